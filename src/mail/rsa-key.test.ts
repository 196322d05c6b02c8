import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { test } from "node:test";
import { needs, pathOf } from "../../test/harness/foreign.ts";
import { defaultPrimes, der, integer, keyFromPrimes, makeRsaKey, oid, sequence } from "./rsa-key.ts";

const data = Buffer.from("a message");

test("a generated key has 2,048 bits, signs after an export, and its public key has the usual form", async () => {
  const keys = await Promise.all(Array.from({ length: 8 }, (_, index) => makeRsaKey(index % 2 === 0 ? 3 : 2)));
  const moduli = new Set<string>();
  for (const key of keys) {
    assert.deepEqual(key.asymmetricKeyDetails, { modulusLength: 2048, publicExponent: 65537n });
    const again = createPrivateKey(key.export({ type: "pkcs8", format: "pem" }));
    const spki = createPublicKey(key).export({ type: "spki", format: "der" });
    // The form published in DNS. Every RSA-2048 key with this exponent has this length.
    assert.equal(spki.length, 294);
    const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" });
    assert.ok(verify("sha256", data, publicKey, sign("sha256", data, again)));
    assert.ok(!verify("sha256", Buffer.from("another message"), publicKey, sign("sha256", data, again)));
    moduli.add(publicKey.export({ format: "jwk" }).n as string);
  }
  assert.equal(moduli.size, keys.length, "every key is different");
});

test("openssl rsa -check accepts generated keys and reports their primes", { skip: needs("openssl") }, async () => {
  for (const primes of [2, 3] as const) {
    const pem = (await makeRsaKey(primes)).export({ type: "pkcs8", format: "pem" });
    const args = ["rsa", "-check", "-noout", "-text"];
    const output = execFileSync(pathOf("openssl"), args, { input: pem, encoding: "utf8" });
    assert.match(output, /RSA key ok/);
    assert.match(output, new RegExp(`2048 bit, ${primes} primes`));
  }
});

test("three primes are the default only where they were measured to be faster, and never in FIPS mode", () => {
  assert.equal(defaultPrimes({ arch: "arm64", fips: false }), 3);
  assert.equal(defaultPrimes({ arch: "arm64", fips: true }), 2);
  assert.equal(defaultPrimes({ arch: "x64", fips: false }), 2);
  assert.equal(defaultPrimes({ arch: "riscv64", fips: false }), 2);
});

test("unsuitable primes yield no key", () => {
  // The product of 3, 5 and 7 is too short, and the primes must be distinct.
  assert.equal(keyFromPrimes(3n, 5n, 7n), undefined);
  const big = 2n ** 682n + 1n;
  assert.equal(keyFromPrimes(big, big, big), undefined);
});

const hex = (bytes: Buffer) => bytes.toString("hex");

test("a DER integer has the shortest form and is never negative (X.690)", () => {
  assert.equal(hex(integer(0n)), "020100");
  assert.equal(hex(integer(127n)), "02017f");
  assert.equal(hex(integer(128n)), "02020080");
  assert.equal(hex(integer(65537n)), "0203010001");
});

test("a DER length has one, two or three bytes", () => {
  assert.equal(hex(der(0x04, Buffer.alloc(127)).subarray(0, 2)), "047f");
  assert.equal(hex(der(0x04, Buffer.alloc(128)).subarray(0, 3)), "048180");
  assert.equal(hex(der(0x04, Buffer.alloc(256)).subarray(0, 4)), "04820100");
});

test("a DER sequence contains its parts in order, and an object identifier its numbers in groups of seven bits", () => {
  assert.equal(hex(sequence(integer(1n), integer(2n))), "3006020101020102");
  assert.equal(hex(oid("1.2.840.113549.1.1.1")), "06092a864886f70d010101");
});
