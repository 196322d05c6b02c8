import assert from "node:assert/strict";
import { test } from "node:test";
import { allowsHost, policyTtlMs } from "./mta-sts.ts";

const day = 86_400_000;

test("a host is allowed by its name, or by a wildcard for exactly one label", () => {
  const policy = { mode: "enforce" as const, hosts: ["mx.there.test", "*.mail.there.test"] };
  for (const host of ["mx.there.test", "MX.There.Test.", "a.mail.there.test"])
    assert.ok(allowsHost(policy, host), host);
  for (const host of [
    "there.test",
    "a.mx.there.test",
    "mail.there.test",
    "a.b.mail.there.test",
    "mx.there.test.evil.test",
    "",
  ])
    assert.ok(!allowsHost(policy, host), host);
  assert.ok(!allowsHost({ mode: "enforce", hosts: [] }, "mx.there.test"));
  assert.ok(!allowsHost({ mode: "enforce", hosts: ["*.test"] }, "test"));
});

test("a policy is stored for its max_age, but at least a day and at most a year", () => {
  assert.equal(policyTtlMs(0), day);
  assert.equal(policyTtlMs(7 * 86_400), 7 * day);
  assert.equal(policyTtlMs(31_557_600 * 5), 366 * day);
});
