import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { test } from "node:test";
import { needs, pathOf } from "../../test/harness/foreign.ts";
import { keyOf, makeRsaKey } from "./rsa-key.ts";

const data = Buffer.from("a letter");

test("a key of 2,048 bits that signs, is written down and read again, and whose public half is like any other", async () => {
  const keys = await Promise.all(Array.from({ length: 8 }, makeRsaKey));
  const moduli = new Set<string>();
  for (const key of keys) {
    assert.deepEqual(key.asymmetricKeyDetails, { modulusLength: 2048, publicExponent: 65537n });
    const again = createPrivateKey(key.export({ type: "pkcs8", format: "pem" }));
    const shown = createPublicKey(key).export({ type: "spki", format: "der" });
    // As DNS shows it: the length of every RSA-2048 key with this exponent.
    assert.equal(shown.length, 294);
    const publicKey = createPublicKey({ key: shown, format: "der", type: "spki" });
    assert.ok(verify("sha256", data, publicKey, sign("sha256", data, again)));
    assert.ok(!verify("sha256", Buffer.from("another letter"), publicKey, sign("sha256", data, again)));
    moduli.add(publicKey.export({ format: "jwk" }).n as string);
  }
  assert.equal(moduli.size, keys.length, "every key is another one");
});

test("OpenSSL's own check finds three primes and every number right", { skip: needs("openssl") }, async () => {
  const pem = (await makeRsaKey()).export({ type: "pkcs8", format: "pem" });
  const words = ["rsa", "-check", "-noout", "-text"];
  const told = execFileSync(pathOf("openssl"), words, { input: pem, encoding: "utf8" });
  assert.match(told, /RSA key ok/);
  assert.match(told, /2048 bit, 3 primes/);
});

test("primes that make no proper key are turned down", () => {
  // 3, 5 and 7 make a short number; two that are equal are no three primes.
  assert.equal(keyOf(3n, 5n, 7n), undefined);
  const big = 2n ** 682n + 1n;
  assert.equal(keyOf(big, big, big), undefined);
});
