import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape, toJsonString } from "@bufbuild/protobuf";
import { GetEmailContentResponseSchema } from "../gen/v1/email_pb.ts";
import { createJsonEncoder, encodeSlices } from "./answer-json.ts";
import { jsonWriteOptions } from "./stream-output.ts";

const encoder = createJsonEncoder(GetEmailContentResponseSchema);

async function encode(init: MessageInitShape<typeof GetEmailContentResponseSchema>) {
  const message = create(GetEmailContentResponseSchema, init);
  const large = encoder.largeFields(message);
  let turns = 0;
  const slices: Uint8Array[] = [];
  const turn = async () => void turns++;
  for await (const slice of encodeSlices(encoder.pieces(message, large), turn)) slices.push(slice);
  const text = Buffer.concat(slices).toString();
  const longest = Math.max(...slices.map((slice) => slice.length));
  return {
    message,
    text,
    turns,
    longest,
    expected: toJsonString(GetEmailContentResponseSchema, message, jsonWriteOptions),
  };
}

test("large fields are encoded in slices, to the same JSON as in one step", async () => {
  const raw = Buffer.from(Array.from({ length: 1_000_001 }, (_, i) => (i * 7) % 256));
  const html = `"<p>\\ 😀\u2028\n`.repeat(50_000);
  const { message, text, turns, longest, expected } = await encode({ raw, body: "short", html });
  assert.equal(text, expected);
  assert.ok(turns > 5, `${turns} turns`);
  assert.ok(longest < 1024 * 1024, `a slice of ${longest} bytes`);
  assert.equal(message.raw, raw, "the message keeps its fields");
});

test("a slice never ends within a character, whatever the offset", async () => {
  for (const start of ["", "x"]) {
    const { text, expected } = await encode({ html: start + "😀".repeat(200_000) });
    assert.equal(text, expected);
  }
});

test("a message without large fields is one piece", async () => {
  const { text, turns, expected } = await encode({ raw: Buffer.from("small"), body: "x", html: "y" });
  assert.equal(text, expected);
  assert.equal(turns, 0);
});
