import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { type Address, parseAddress } from "../../mail/address.ts";
import { compose, type OutgoingEmail } from "../../mail/compose.ts";
import { createKeyCache } from "./job.ts";
import { createComposer } from "./pool.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const privateKeyPem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const signer = { domain: "example.com", selector: "ph1", privateKeyPem };

const small: OutgoingEmail = {
  id: "em_01932c5e-7b1a-7abc-8def-0123456789ab",
  messageId: "<01932c5e-7b1a-7abc-8def-0123456789ab@example.com>",
  date: new Date("2024-03-01T09:05:07Z"),
  from: address("Ann <ann@example.com>"),
  to: [address("bob@example.net")],
  subject: "Grüße",
  text: "Hello Bob,\n\n.\n",
  html: "<p>Hello  Bob</p>",
};
const content = randomBytes(2_000_001);
const large: OutgoingEmail = {
  ...small,
  attachments: [{ filename: "film.bin", contentType: "", base64: content.toString("base64") }],
};

test("small and large emails are signed, and the signatures verify", async () => {
  const composer = createComposer({ threads: 1 });
  for (const email of [small, large]) {
    const { raw, size } = await composer.compose({ email, signer });
    assert.equal(size, raw.length);
    assert.equal(await verdict(raw), "pass");
    const message = compose(email);
    assert.deepEqual(raw.subarray(raw.length - message.length), message);
    assert.match(raw.toString("latin1", 0, raw.length - message.length), /^DKIM-Signature: [^\0]+\r\n$/);
  }
  await composer.stop();
});

test("a worker thread composes the same bytes as the event loop, including the signature", async () => {
  const inline = createComposer({ inlineLimitBytes: Number.POSITIVE_INFINITY });
  const worker = createComposer({ inlineLimitBytes: -1 });
  for (const email of [small, large]) {
    assert.deepEqual((await worker.compose({ email, signer })).raw, (await inline.compose({ email, signer })).raw);
  }
  await Promise.all([inline.stop(), worker.stop()]);
});

test("attachments given as bytes are transferred to the thread and arrive complete", async () => {
  const composer = createComposer({ threads: 1 });
  const bytes = new Uint8Array(Buffer.from(content.toString("base64")));
  const email = { ...large, attachments: [{ filename: "film.bin", contentType: "", base64: bytes }] };
  const { raw } = await composer.compose({ email });
  assert.deepEqual(raw, compose(large));
  assert.equal(bytes.length, 0, "the memory was transferred");
  await assert.rejects(composer.compose({ email }), /already transferred/, "an empty attachment must not be sent");
  await composer.stop();
});

test("more large emails than threads are all composed", async () => {
  const composer = createComposer({ threads: 2 });
  const expected = compose(large);
  for (const { raw } of await Promise.all(Array.from({ length: 6 }, () => composer.compose({ email: large })))) {
    assert.deepEqual(raw, expected);
  }
  await composer.stop();
});

test("an email that cannot be composed does not affect others, inline or in a thread", async () => {
  const composer = createComposer({ threads: 1 });
  await assert.rejects(composer.compose({ email: { ...small, subject: "a\r\nb" } }), /line break/);
  const bad = composer.compose({ email: { ...large, subject: "a\r\nb" } });
  const good = composer.compose({ email: large });
  await assert.rejects(bad, /line break/);
  assert.deepEqual((await good).raw, compose(large));
  await assert.rejects(composer.compose({ email: small, signer: { ...signer, privateKeyPem: "none" } }));
  await composer.stop();
});

test("the pool keeps working after a job that cannot be posted to a thread", async () => {
  const composer = createComposer({ threads: 1 });
  const unpostable = { ...large, messageId: (() => "") as unknown as string };
  await assert.rejects(composer.compose({ email: unpostable }), { name: "DataCloneError" });
  assert.deepEqual((await composer.compose({ email: large })).raw, compose(large));
  await composer.stop();
});

test("a waiting request rejects when its signal aborts", async () => {
  const composer = createComposer({ threads: 1 });
  const first = composer.compose({ email: large });
  const abort = new AbortController();
  const second = composer.compose({ email: large, signal: abort.signal });
  abort.abort(new Error("aborted by the test"));
  await assert.rejects(second, /aborted by the test/);
  await assert.rejects(composer.compose({ email: small, signal: abort.signal }), /aborted by the test/);
  assert.deepEqual((await first).raw, compose(large));
  await composer.stop();
});

test("stop finishes the work in progress and rejects new requests", async () => {
  const composer = createComposer({ threads: 1 });
  const inProgress = [small, large, large].map((email) => composer.compose({ email, signer }));
  await composer.stop();
  for (const { raw } of await Promise.all(inProgress)) assert.equal(await verdict(raw), "pass");
  await assert.rejects(composer.compose({ email: small }), /stopped/);
});

test("the key cache parses a key once, replaces it when it changes, and evicts the least recently used key", () => {
  const keyOf = createKeyCache(2);
  const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const otherPem = other.export({ type: "pkcs8", format: "pem" }).toString();
  const first = keyOf(signer);
  assert.equal(keyOf(signer), first);
  const replaced = keyOf({ ...signer, privateKeyPem: otherPem });
  assert.ok(replaced.equals(other));
  keyOf({ ...signer, domain: "b.example" });
  assert.equal(keyOf({ ...signer, privateKeyPem: otherPem }), replaced, "recently used, so not evicted");
  keyOf({ ...signer, domain: "c.example" });
  assert.equal(keyOf({ ...signer, privateKeyPem: otherPem }), replaced);
  const again = keyOf({ ...signer, domain: "b.example" });
  assert.notEqual(again, first, "the least recently used key was evicted");
  const ed25519 = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  assert.throws(() => keyOf({ ...signer, privateKeyPem: ed25519 }), /not an RSA key/);
});

async function verdict(raw: Buffer): Promise<string> {
  const p = publicKey.export({ type: "spki", format: "der" }).toString("base64");
  const { results } = await dkimVerify(raw, { resolver: async () => [[`v=DKIM1; k=rsa; p=${p}`]] });
  return results[0]!.status.result;
}

function address(text: string): Address {
  const result = parseAddress(text);
  assert.ok(result.ok, text);
  return result.address;
}
