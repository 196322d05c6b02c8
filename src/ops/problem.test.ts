import assert from "node:assert/strict";
import { test } from "node:test";
import { invalid, notFound, Problem } from "./problem.ts";

test("the message lists every violation, and each field has its own entry", () => {
  const violations = [
    { field: "to", description: "must not be empty" },
    { field: "from", description: "is not an address" },
  ];
  const problem = invalid(violations);
  assert.equal(problem.code, "invalid_argument");
  assert.equal(problem.message, "to: must not be empty; from: is not an address");
  assert.deepEqual(problem.violations, violations);
});

test("a problem is an error with its cause, and has a retry delay only where one is given", () => {
  const cause = new Error("full");
  const problem = new Problem("resource_exhausted", "Retry later.", { retryAfterMs: 2000, cause });
  assert.ok(problem instanceof Error);
  assert.deepEqual([problem.name, problem.retryAfterMs, problem.cause], ["Problem", 2000, cause]);
  assert.deepEqual(problem.violations, []);
  assert.equal(new Problem("internal", "x").retryAfterMs, undefined);
});

test("notFound quotes the id and shortens a long one", () => {
  const { code, message } = notFound("email", `em_"${"x".repeat(5000)}`);
  assert.equal(code, "not_found");
  assert.match(message, /^No email has the id "em_\\"x+" in this workspace\./);
  assert.ok(message.length < 250);
});
