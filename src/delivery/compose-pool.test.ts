import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { type Address, parseAddress } from "../mail/address.ts";
import { compose, type OutgoingEmail } from "../mail/compose.ts";
import { createComposer } from "./compose-pool.ts";
import { createKeyCache } from "./compose-pool-keys.ts";

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

test("small and large emails come out signed, and verify", async () => {
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

test("a worker writes the same octets as the event loop would, signature included", async () => {
  const inline = createComposer({ inlineLimitBytes: Number.POSITIVE_INFINITY });
  const worker = createComposer({ inlineLimitBytes: -1 });
  for (const email of [small, large]) {
    assert.deepEqual((await worker.compose({ email, signer })).raw, (await inline.compose({ email, signer })).raw);
  }
  await Promise.all([inline.stop(), worker.stop()]);
});

test("content in octets is handed over and arrives whole", async () => {
  const composer = createComposer({ threads: 1 });
  const octets = new Uint8Array(Buffer.from(content.toString("base64")));
  const email = { ...large, attachments: [{ filename: "film.bin", contentType: "", base64: octets }] };
  const { raw } = await composer.compose({ email });
  assert.deepEqual(raw, compose(large));
  assert.equal(octets.length, 0, "the memory has changed hands");
  await assert.rejects(composer.compose({ email }), /handed over before/, "and no empty file goes out in its place");
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

test("an email that cannot be composed fails alone, inline and in a worker", async () => {
  const composer = createComposer({ threads: 1 });
  await assert.rejects(composer.compose({ email: { ...small, subject: "a\r\nb" } }), /line break/);
  const bad = composer.compose({ email: { ...large, subject: "a\r\nb" } });
  const good = composer.compose({ email: large });
  await assert.rejects(bad, /line break/);
  assert.deepEqual((await good).raw, compose(large));
  await assert.rejects(composer.compose({ email: small, signer: { ...signer, privateKeyPem: "none" } }));
  await composer.stop();
});

test("a job that cannot be posted costs a worker, not the pool", async () => {
  const composer = createComposer({ threads: 1 });
  const unpostable = { ...large, messageId: (() => "") as unknown as string };
  await assert.rejects(composer.compose({ email: unpostable }), { name: "DataCloneError" });
  assert.deepEqual((await composer.compose({ email: large })).raw, compose(large));
  await composer.stop();
});

test("a waiting email can be called off", async () => {
  const composer = createComposer({ threads: 1 });
  const first = composer.compose({ email: large });
  const calling = new AbortController();
  const second = composer.compose({ email: large, signal: calling.signal });
  calling.abort(new Error("called off"));
  await assert.rejects(second, /called off/);
  await assert.rejects(composer.compose({ email: small, signal: calling.signal }), /called off/);
  assert.deepEqual((await first).raw, compose(large));
  await composer.stop();
});

test("a stop lets the work in hand finish and takes no more", async () => {
  const composer = createComposer({ threads: 1 });
  const under = [small, large, large].map((email) => composer.compose({ email, signer }));
  await composer.stop();
  for (const { raw } of await Promise.all(under)) assert.equal(await verdict(raw), "pass");
  await assert.rejects(composer.compose({ email: small }), /stopped/);
});

test("keys are parsed once, replaced when they change, and bounded in number", () => {
  const keyOf = createKeyCache(2);
  const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const otherPem = other.export({ type: "pkcs8", format: "pem" }).toString();
  const first = keyOf(signer);
  assert.equal(keyOf(signer), first);
  const replaced = keyOf({ ...signer, privateKeyPem: otherPem });
  assert.ok(replaced.equals(other));
  keyOf({ ...signer, domain: "b.example" });
  assert.equal(keyOf({ ...signer, privateKeyPem: otherPem }), replaced, "used, so it stays");
  keyOf({ ...signer, domain: "c.example" });
  assert.equal(keyOf({ ...signer, privateKeyPem: otherPem }), replaced);
  const again = keyOf({ ...signer, domain: "b.example" });
  assert.notEqual(again, first, "the one not used for longest had gone");
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
