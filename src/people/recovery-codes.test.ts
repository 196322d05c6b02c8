import assert from "node:assert/strict";
import { test } from "node:test";
import { hashRecoveryCode, makeRecoveryCodes } from "./recovery-codes.ts";

test("ten different codes in groups of four", () => {
  const codes = makeRecoveryCodes();
  assert.equal(new Set(codes).size, 10);
  for (const code of codes) assert.match(code, /^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}$/);
});

test("a code is read in any case, with and without dashes, and with letters that look alike", () => {
  const hash = hashRecoveryCode("ann", "01ab-cdef-ghjk-mnpq");
  assert.ok(hash);
  for (const text of ["01ABCDEFGHJKMNPQ", " 01ab cdef ghjk mnpq ", "oLab-cdef-ghjk-mnpq", "OIab-cdef-ghjk-mnpq"])
    assert.equal(hashRecoveryCode("ann", text), hash);
  assert.notEqual(hashRecoveryCode("ben", "01ab-cdef-ghjk-mnpq"), hash, "each person has other hashes");
  for (const text of ["", "123456", "01ab-cdef-ghjk-mnp", "01ab-cdef-ghjk-mnpu", "01ab-cdef-ghjk-mnpqr"])
    assert.equal(hashRecoveryCode("ann", text), undefined);
});
