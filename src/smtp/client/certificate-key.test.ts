import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { makeSelfSigned } from "../server/certificate.ts";
import { readPublicKeyInfo } from "./certificate-key.ts";

const fixture = (name: string) => readFileSync(new URL(`../../../test/fixtures/tls/${name}`, import.meta.url));
const certificates = [
  fixture("ca.pem"),
  fixture("mx.pem"),
  Buffer.from(makeSelfSigned("mx.example.test", Date.now()).cert),
].map((pem) => new X509Certificate(pem));

test("the public key of a certificate, as Node reads it", () => {
  for (const certificate of certificates) {
    const expected = certificate.publicKey.export({ type: "spki", format: "der" });
    assert.deepEqual(readPublicKeyInfo(certificate.raw), expected);
  }
});

test("the bytes are part of the certificate, and other bytes have no key", () => {
  const { raw } = certificates[0]!;
  fc.assert(
    fc.property(fc.nat(raw.length), fc.nat(raw.length), fc.nat(255), (length, at, value) => {
      assert.equal(readPublicKeyInfo(raw.subarray(0, Math.min(length, raw.length - 1))), undefined);
      const changed = Buffer.from(raw);
      if (at < changed.length) changed[at] = value;
      const found = readPublicKeyInfo(changed);
      assert.ok(found === undefined || changed.includes(found));
    }),
    { seed: 1, numRuns: 2000 },
  );
  for (const bytes of [[], [0x30], [0x30, 0x80], [0x30, 0x84, 0, 0, 0, 1, 0], [0x04, 0x00]])
    assert.equal(readPublicKeyInfo(Buffer.from(bytes)), undefined);
});
