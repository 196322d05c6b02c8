import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { fromBinary, fromJsonString } from "@bufbuild/protobuf";
import { StreamEventsResponseSchema } from "../gen/v1/email_pb.ts";
import type { StreamForm } from "../http/stream-output.ts";
import { createPage, type EncodedPage } from "./page.ts";
import type { StoredEvent } from "./store.ts";

const text = "Grüße ".repeat(1000);
const stored = (number: number, type: string, payload: Record<string, unknown>): StoredEvent => ({
  number: String(number),
  id: "01938a52-10aa-7c3d-8f21-000000000001",
  type,
  emailId: null,
  messageId: "<a@b.test>",
  metadata: { order: "1" },
  payload,
  createdAt: new Date(0),
});
const events = [
  stored(8, "domain.updated", { domain: "example.test" }),
  stored(9, "email.replied", { from: "ann@there.test", body: text }),
  stored(10, "domain.updated", { domain: "example.test" }),
];

function startPage() {
  const counts = { encoded: 0, shared: 0, bytes: 0 };
  const page = createPage({
    events,
    reached: 10n,
    cuts: [],
    onEncoded(bytes) {
      counts.encoded += 1;
      counts.bytes += bytes;
    },
    onShared() {
      counts.shared += 1;
    },
  });
  return { page, counts };
}

function* piecesOf({ bytes, offsets }: EncodedPage): Generator<Buffer> {
  for (let i = 1; i < offsets.length; i++) yield Buffer.from(bytes.subarray(offsets[i - 1], offsets[i]));
}

/** The messages of a page, each read from its own piece. */
function read(encoded: EncodedPage, form: StreamForm) {
  return [...piecesOf(encoded)].map((piece) => {
    if (form === "lines") return fromJsonString(StreamEventsResponseSchema, piece.toString("utf8").replace(/\n$/, ""));
    if (form === "sse")
      return fromJsonString(
        StreamEventsResponseSchema,
        /^id: \d+\nevent: \S+\ndata: (.*)\n\n$/.exec(piece.toString())![1]!,
      );
    assert.equal(piece.readUInt32BE(1), piece.length - 5);
    const data = piece.subarray(5);
    if (form === "json envelopes") return fromJsonString(StreamEventsResponseSchema, data.toString("utf8"));
    return fromBinary(StreamEventsResponseSchema, data);
  });
}

test("a page has one message for each event, in every form", async () => {
  const { page } = startPage();
  for (const form of ["lines", "sse", "json envelopes", "binary envelopes"] as const) {
    const messages = read(await page.encoded({ form, compression: undefined }, { inboundText: true }), form);
    assert.deepEqual(
      messages.map(({ cursor, event }) => [cursor, event?.type]),
      events.map(({ number, type }) => [number, type]),
    );
    const payload = messages[1]!.event!.payload as { case: string; value: { body: string } };
    assert.deepEqual([payload.case, payload.value.body], ["replied", text]);
  }
});

test("only large messages are compressed, and the flag says which", async () => {
  const { page } = startPage();
  for (const [compression, decompress] of [
    ["gzip", gunzipSync],
    ["br", brotliDecompressSync],
  ] as const) {
    const encoded = await page.encoded({ form: "binary envelopes", compression }, { inboundText: true });
    const pieces = [...piecesOf(encoded)];
    assert.deepEqual(
      pieces.map((piece) => piece[0]),
      [0, 1, 0],
    );
    const message = fromBinary(StreamEventsResponseSchema, decompress(pieces[1]!.subarray(5)));
    assert.equal((message.event!.payload.value as { body: string }).body, text);
  }
});

test("a page is encoded once per format, and without the text of inbound mail for other keys", async () => {
  const { page, counts } = startPage();
  const format = { form: "lines", compression: undefined } as const;
  const [first, second] = await Promise.all([
    page.encoded(format, { inboundText: true }),
    page.encoded(format, { inboundText: true }),
  ]);
  assert.equal(first.bytes, second.bytes);
  const bare = await page.encoded(format, { inboundText: false });
  assert.ok(!Buffer.from(bare.bytes).includes("Grüße"));
  assert.deepEqual(counts, { encoded: 2, shared: 1, bytes: first.bytes.length + bare.bytes.length });
});

test("a reader continues after its number, in the middle of a page too", () => {
  const { page } = startPage();
  assert.deepEqual(
    [0n, 7n, 8n, 9n, 10n, 11n].map((number) => page.indexAfter(number)),
    [0, 0, 1, 2, 3, 3],
  );
});
