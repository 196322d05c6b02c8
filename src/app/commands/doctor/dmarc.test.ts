import assert from "node:assert/strict";
import { test } from "node:test";
import { dmarcFinding } from "./dmarc.ts";

test("doctor counts sending domains without a valid DMARC policy, and names one", () => {
  assert.deepEqual(dmarcFinding({ sending: 0, without: 0, example: null }), {
    check: "DMARC",
    result: "ok",
    found: "no domain can send yet",
  });
  assert.equal(
    dmarcFinding({ sending: 4, without: 0, example: null }).found,
    "every sending domain has a valid policy by RFC 9989 (4)",
  );
  const one = dmarcFinding({ sending: 1, without: 1, example: "shop.test" });
  assert.equal(one.result, "warn");
  assert.equal(one.found, "1 of 1 sending domain has no valid DMARC policy, such as shop.test");
  assert.match(one.fix!, /posthorn domains records DOMAIN/);
});
