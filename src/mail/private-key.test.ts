import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { needs, pathOf } from "../../test/harness/foreign.ts";
import { pemProblem, primesIn, readSigningKey } from "./private-key.ts";
import { integer, makeRsaKey, sequence } from "./rsa-key.ts";

const rsa = (modulusLength: number, publicExponent = 65537) =>
  generateKeyPairSync("rsa", { modulusLength, publicExponent }).privateKey;
const key = rsa(2048);
const pkcs1 = key.export({ type: "pkcs1", format: "pem" }).toString();
const pkcs8 = key.export({ type: "pkcs8", format: "pem" }).toString();

async function problemOf(pem: string): Promise<string> {
  const wrong = pemProblem(pem);
  if (wrong) return wrong;
  const reading = await readSigningKey(pem);
  assert.ok(!reading.ok, "a key that must be refused");
  return reading.problem;
}

test("PKCS #1 and PKCS #8 are the same key, also with CRLF and text around it", async () => {
  const publicKey = createPublicKey(key).export({ type: "spki", format: "der" }).toString("base64");
  for (const pem of [pkcs1, pkcs8, pkcs8.replaceAll("\n", "\r\n"), `  \nBag Attributes: none\n${pkcs8}\n\n`])
    assert.deepEqual(await readSigningKey(pem), {
      ok: true,
      key: { publicKey, privateKeyPem: pkcs8, bits: 2048, primes: 2 },
    });
});

test("keys of 1,024 to 4,096 bits are read, with two or three primes", async () => {
  for (const [one, bits, primes] of [
    [rsa(1024), 1024, 2],
    [rsa(1536), 1536, 2],
    [rsa(4096), 4096, 2],
    [await makeRsaKey(3), 2048, 3],
  ] as const) {
    const reading = await readSigningKey(one.export({ type: "pkcs8", format: "pem" }).toString());
    assert.ok(reading.ok);
    assert.deepEqual([reading.key.bits, reading.key.primes, primesIn(one)], [bits, primes, primes]);
  }
});

test("each kind of wrong key is refused with what to do", async () => {
  const pem = { type: "pkcs8", format: "pem" } as const;
  const encrypted = { cipher: "aes-256-cbc", passphrase: "x" };
  const { privateKey: ed25519 } = generateKeyPairSync("ed25519");
  const { privateKey: ec } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { privateKey: pss } = generateKeyPairSync("rsa-pss", { modulusLength: 2048 });
  const cases: [string, RegExp][] = [
    ["", /^is required/],
    ["hello", /^is not PEM/],
    ["x".repeat(20_000), /^has 20000 characters/],
    [pkcs8 + pkcs1, /^contains 2 PEM blocks/],
    [pkcs8.slice(0, 800), /^is not a private key that OpenSSL can read/],
    [pkcs8.replaceAll("\n", "\\n"), /^has its line breaks/],
    [pkcs8.replaceAll("\n", " "), /^has its line breaks/],
    [pkcs8.replace(/^/gm, "  "), /^has spaces before its lines/],
    [key.export({ ...pem, ...encrypted }).toString(), /^is encrypted.*openssl pkey/],
    [key.export({ type: "pkcs1", format: "pem", ...encrypted }).toString(), /^is encrypted.*openssl pkey/],
    [createPublicKey(key).export({ type: "spki", format: "pem" }).toString(), /^is a public key/],
    ["-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", /^is a certificate/],
    ["-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n", /^is in the format of OpenSSH/],
    [ed25519.export(pem).toString(), /^is an Ed25519 key.*RFC 8463/],
    [ec.export(pem).toString(), /^is an elliptic-curve key/],
    [ec.export({ type: "sec1", format: "pem" }).toString(), /^is an elliptic-curve key/],
    [pss.export(pem).toString(), /^is restricted to RSA-PSS/],
    [rsa(768).export(pem).toString(), /^has 768 bits; it must have between 1024 and 4096/],
    [rsa(5120).export(pem).toString(), /^has 5120 bits/],
    [rsa(2048, 3).export(pem).toString(), /^has the public exponent 3; it must be 65537/],
  ];
  for (const [text, expected] of cases) {
    const problem = await problemOf(text);
    assert.match(problem, expected);
    for (const line of text.split("\n").filter((one) => /^[A-Za-z0-9+/=]{20,}$/.test(one)))
      assert.ok(!problem.includes(line), "the problem repeats no part of the key");
  }
});

test("a key whose numbers do not belong together is refused, and a huge number keeps no thread busy", async () => {
  const jwk = key.export({ format: "jwk" });
  const big = (text: string | undefined) => BigInt(`0x${Buffer.from(text!, "base64url").toString("hex")}`);
  const numbers = { n: big(jwk.n), e: 65537n, d: big(jwk.d), p: big(jwk.p), q: big(jwk.q) };
  const crt = { dp: big(jwk.dp), dq: big(jwk.dq), qi: big(jwk.qi) };
  const write = (changed: Partial<typeof numbers & typeof crt>) => {
    const { n, e, d, p, q, dp, dq, qi } = { ...numbers, ...crt, ...changed };
    const der = sequence(...[0n, n, e, d, p, q, dp, dq, qi].map(integer));
    return `-----BEGIN RSA PRIVATE KEY-----\n${der.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END RSA PRIVATE KEY-----\n`;
  };
  assert.ok((await readSigningKey(write({}))).ok);
  const other = rsa(2048).export({ format: "jwk" });
  const damaged: Parameters<typeof write>[0][] = [
    { n: big(other.n) },
    { d: numbers.d + 2n },
    { p: big(other.p), q: big(other.q) },
    { p: 1n, q: numbers.n },
    { p: 0n },
    { d: 2n ** 60_000n + 1n },
    { dp: 2n ** 60_000n + 1n },
    // With these, signatures verify, but take several times as long.
    { dp: crt.dp ^ 2n },
    { dq: crt.dq ^ 2n },
    { qi: crt.qi ^ 2n },
    { qi: crt.qi + numbers.p },
    { dp: numbers.n - 2n, dq: numbers.n - 4n },
  ];
  for (const change of damaged) assert.match(await problemOf(write(change)), /^is (damaged|not a private key)/);
  // The last number is the third prime's.
  const three = (await makeRsaKey(3)).export({ type: "pkcs1", format: "der" });
  three[three.length - 1]! ^= 2;
  const pem = createPrivateKey({ key: three, format: "der", type: "pkcs1" }).export({ type: "pkcs8", format: "pem" });
  assert.match(await problemOf(pem.toString()), /^is damaged/);
});

test("no text makes the reader throw", async () => {
  const lines = pkcs8.split("\n");
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: lines.length - 1 }),
      fc.oneof(fc.string(), fc.base64String()),
      async (line, text) => {
        const broken = lines.with(line, text).join("\n");
        const reading = await readSigningKey(broken);
        if (reading.ok) assert.equal(reading.key.privateKeyPem, pkcs8);
      },
    ),
    { numRuns: 200 },
  );
});

test("keys of the openssl program are read in both formats, and openssl accepts what is stored", {
  skip: needs("openssl"),
}, async () => {
  const openssl = (args: string[], input?: string) =>
    execFileSync(pathOf("openssl"), args, { input, encoding: "utf8", stdio: ["pipe", "pipe", "ignore"] });
  const made = openssl(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]);
  const traditional = openssl(["rsa", "-traditional"], made);
  assert.match(traditional, /BEGIN RSA PRIVATE KEY/);
  const [one, two] = [await readSigningKey(made), await readSigningKey(traditional)];
  assert.ok(one.ok && two.ok);
  assert.deepEqual(one.key, two.key);
  const check = openssl(["rsa", "-check", "-noout"], one.key.privateKeyPem);
  assert.match(check, /RSA key ok/);
  const data = Buffer.from("data");
  const signature = sign("sha256", data, createPrivateKey(one.key.privateKeyPem));
  const publicKey = createPublicKey({ key: Buffer.from(one.key.publicKey, "base64"), format: "der", type: "spki" });
  assert.ok(verify("sha256", data, publicKey, signature));
});
