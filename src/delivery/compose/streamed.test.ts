import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { after, test } from "node:test";
import fc from "fast-check";
import { address } from "../../../test/harness/mail.ts";
import { readOutgoing, readOutlined, type StoredEmail } from "../../emails/outgoing.ts";
import type { Envelope } from "../../emails/store/emails.ts";
import { ContentGone, type NewPart, type StoredPart } from "../../emails/store/parts.ts";
import { createDigests } from "./digests.ts";
import { composeSigned } from "./job.ts";
import { createComposer } from "./pool.ts";
import { streamSigned } from "./streamed.ts";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const privateKeyPem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const signer = { domain: "example.com", selector: "ph1", privateKeyPem };
const key = createPrivateKey(privateKeyPem);
const composer = createComposer();
const digests = createDigests();
after(async () => {
  await composer.stop();
  await digests.end();
});

/** A stored part that is read in pieces of these sizes. */
function stored(part: Exclude<NewPart, { object: unknown }>, sizes: readonly number[]): StoredPart {
  if (typeof part === "string") return part;
  const { bytes } = part;
  return {
    bytes: bytes.length,
    async *read(signal) {
      let from = 0;
      for (let i = 0; from < bytes.length; i++) {
        signal?.throwIfAborted();
        const to = from + (sizes[i % sizes.length] ?? bytes.length);
        const piece = Buffer.allocUnsafeSlow(Math.min(to, bytes.length) - from);
        bytes.copy(piece, 0, from);
        yield piece;
        from = to;
      }
    },
  };
}

function emailOf(envelope: Partial<Envelope>): StoredEmail {
  const none = {
    to: [],
    cc: [],
    bcc: [],
    replyTo: [],
    headers: [],
    references: [],
    attachments: [],
    requireTls: false,
  };
  return {
    id: "01932c5e-7b1a-7abc-8def-0123456789ab",
    messageId: "<01932c5e-7b1a-7abc-8def-0123456789ab@example.com>",
    subject: "Grüße",
    date: new Date("2024-03-01T09:05:07Z"),
    envelope: { from: address("ann@example.com"), ...none, ...envelope } as Envelope,
  };
}

async function streamed(email: StoredEmail, parts: StoredPart[], smtputf8 = false): Promise<Buffer[]> {
  const { signal } = new AbortController();
  const outline = await composer.outline({ email: await readOutlined(email, parts), smtputf8 });
  const request = { outline, parts, signer, signedAt: email.date, signal, readSignal: signal };
  const first = await streamSigned({ composer, digests }, { ...request, bodyHash: undefined });
  const again = await streamSigned({ composer, digests }, { ...request, bodyHash: first.bodyHash });
  const results: Buffer[] = [];
  for (const { message } of [first, again]) {
    const pieces: Buffer[] = [];
    for await (const { bytes, isPlain } of message.read()) {
      if (isPlain) assert.match(bytes.toString("latin1"), /^(?:[A-Za-z0-9+/]{1,76}={0,2}\r\n)+$/);
      pieces.push(Buffer.from(bytes));
    }
    results.push(Buffer.concat(pieces));
    assert.equal(message.length, results.at(-1)!.length);
  }
  return results;
}

async function whole(email: StoredEmail, parts: StoredPart[], smtputf8 = false): Promise<Buffer> {
  const identity = { domain: signer.domain, selector: signer.selector, key };
  return await composeSigned({ kind: "message", email: await readOutgoing(email, parts), signer: identity, smtputf8 });
}

const sizes = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 5 });
/** Files with all kinds of ends of lines of base64. */
const file = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));

test("a message with large attachments is the same, octet by octet, as one composed in memory", async () => {
  const large = fc.tuple(file, fc.boolean(), fc.boolean());
  await fc.assert(
    fc.asyncProperty(fc.array(large, { minLength: 1, maxLength: 4 }), sizes, fc.string(), async (files, cut, text) => {
      const attachments = files.map(([{ length }, , isInline], i) => ({
        filename: `f${i}`,
        contentType: "",
        sizeBytes: length,
        ...(isInline && { contentId: `c${i}` }),
      }));
      const email = emailOf({ to: [address("bob@example.net")], attachments });
      const parts = [
        JSON.stringify({ text: text.toWellFormed(), html: "<p>ü</p>" }),
        ...files.map(
          ([bytes, isLarge]): StoredPart =>
            isLarge && bytes.length > 0 ? stored({ bytes }, cut) : bytes.toString("base64"),
        ),
      ];
      const expected = await whole(email, parts);
      for (const message of await streamed(email, parts)) assert.deepEqual(message, expected);
    }),
    { numRuns: 60 },
  );
});

test("a large submitted message is the same, octet by octet, with any white space, in both forms", async () => {
  const body = fc.array(fc.constantFrom("\r\n", " ", "\t ", "a", ".", "\xe4", "\r\n.\r\n", "QUJD\r\n"), {
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(body, sizes, fc.boolean(), async (some, cut, smtputf8) => {
      const message = Buffer.from(`From: Ann <ann@example.com>\r\nSubject: x\r\n\r\n${some.join("")}`, "latin1");
      const email = emailOf({
        to: [address("jürgen@example.net")],
        submitted: { later: ["Message-ID", "Date", "To"], eightBit: true },
      });
      const parts = [stored({ bytes: message }, cut)];
      const expected = await whole(email, parts, smtputf8);
      for (const one of await streamed(email, parts, smtputf8)) assert.deepEqual(one, expected);
    }),
    { numRuns: 60 },
  );
});

test("an attachment of 3 MB and large texts, which a thread encodes, give the same message", async () => {
  const bytes = Buffer.from(Array.from({ length: 3_000_001 }, (_, i) => (i * i) % 251));
  const attachments = [{ filename: "film.bin", contentType: "video/mp4", sizeBytes: bytes.length }];
  const email = emailOf({ to: [address("bob@example.net")], attachments });
  const texts = Buffer.from(JSON.stringify({ text: "Zeile ä\n".repeat(20_000), html: "" }));
  const parts = [stored({ bytes: texts }, [10_000]), stored({ bytes }, [262_144])];
  const expected = await whole(email, parts);
  for (const message of await streamed(email, parts)) assert.ok(message.equals(expected));
});

test("a part that is gone or fails ends the preparation and the message, and the digest thread serves the next one", async () => {
  const bytes = Buffer.alloc(1_000_000, 7);
  const attachments = [{ filename: "a", contentType: "", sizeBytes: bytes.length }];
  const email = emailOf({ to: [address("bob@example.net")], attachments });
  const texts = JSON.stringify({ text: "x", html: "" });
  const good = [texts, stored({ bytes }, [100_000])];
  let reads = 0;
  const fails = (at: number): StoredPart => ({
    bytes: bytes.length,
    async *read() {
      reads += 1;
      yield Buffer.from(bytes.subarray(0, 200_000));
      if (reads === at) throw new ContentGone();
      yield Buffer.from(bytes.subarray(200_000));
    },
  });
  await assert.rejects(streamed(email, [texts, fails(1)]), ContentGone);
  reads = 0;
  await assert.rejects(streamed(email, [texts, fails(2)]), ContentGone);
  const expected = await whole(email, good);
  assert.ok((await streamed(email, good)).every((message) => message.equals(expected)));
  const outline = await composer.outline({ email: await readOutlined(email, good) });
  const stopped = AbortSignal.abort(new Error("stopped"));
  const request = { outline, parts: good, signer, signedAt: email.date, bodyHash: undefined };
  await assert.rejects(
    streamSigned({ composer, digests }, { ...request, signal: stopped, readSignal: stopped }),
    /stopped/,
  );
});

test("many messages share the digest thread", async () => {
  const files = Array.from({ length: 8 }, (_, i) => Buffer.alloc(700_000 + i, i));
  await Promise.all(
    files.map(async (bytes) => {
      const attachments = [{ filename: "a", contentType: "", sizeBytes: bytes.length }];
      const email = emailOf({ to: [address("bob@example.net")], attachments });
      const parts = [JSON.stringify({ text: "x", html: "" }), stored({ bytes }, [100_000])];
      const expected = await whole(email, parts);
      for (const message of await streamed(email, parts)) assert.ok(message.equals(expected));
    }),
  );
});
