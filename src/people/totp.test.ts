import assert from "node:assert/strict";
import { test } from "node:test";
import { makeTotpSecret, readTotpCode, totpStep, totpUri } from "./totp.ts";

/** RFC 6238, appendix B: the secret of SHA-1, and the last six digits of its codes. */
const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
const vectors: [seconds: number, code: string][] = [
  [59, "287082"],
  [1111111109, "081804"],
  [1111111111, "050471"],
  [1234567890, "005924"],
  [2000000000, "279037"],
  [20000000000, "353130"],
];

for (const [seconds, code] of vectors)
  test(`RFC 6238: ${code} is the code at ${seconds}`, async () => {
    assert.equal(await totpStep(secret, code, seconds * 1000), Math.floor(seconds / 30));
  });

test("a code is accepted one step early and one step late, not two (RFC 6238 §5.2)", async () => {
  const [seconds, code] = vectors[3]!;
  const step = Math.floor(seconds / 30);
  const at = async (steps: number) => await totpStep(secret, code, (step + steps) * 30_000 + 5);
  assert.deepEqual(await Promise.all([-2, -1, 0, 1, 2].map(at)), [undefined, step, step, step, undefined]);
});

test("another secret has other codes, and secrets have 160 bits", async () => {
  const [one, two] = [await makeTotpSecret(), await makeTotpSecret()];
  assert.notEqual(one, two);
  assert.match(one, /^[A-Z2-7]{32}$/);
  assert.equal(await totpStep(one, "287082", 59_000), undefined);
});

test("the URI names the service and the account", async () => {
  const uri = new URL(await totpUri(secret, "ann@there.test"));
  assert.equal(uri.protocol, "otpauth:");
  assert.equal(decodeURIComponent(uri.pathname), "/Posthorn:ann@there.test");
  assert.deepEqual(Object.fromEntries(uri.searchParams), {
    issuer: "Posthorn",
    secret,
    algorithm: "SHA1",
    digits: "6",
    period: "30",
  });
});

test("a code may contain spaces, and nothing but six digits", () => {
  assert.equal(readTotpCode(" 287 082 "), "287082");
  for (const text of ["", "28708", "2870822", "28708a", "２８７０８２", "-28708"])
    assert.equal(readTotpCode(text), undefined);
});
