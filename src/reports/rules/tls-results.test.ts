import assert from "node:assert/strict";
import { test } from "node:test";
import { explainTls, knownResult, otherResult } from "./tls-results.ts";

test("each result type of RFC 8460 has an explanation, and other types become one", () => {
  assert.match(explainTls("certificate-expired"), /expired/);
  assert.equal(knownResult("starttls-not-supported"), "starttls-not-supported");
  for (const other of ["", "constructor", "my-own-result"]) assert.equal(knownResult(other), otherResult);
  assert.match(explainTls(otherResult), /not standardized/);
});
