import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyRequest, type SendRequest } from "./request.ts";
import { checkUnsubscribe } from "./unsubscribe.ts";

function problemsOf(request: Partial<SendRequest>): string[] {
  const problems: string[] = [];
  const full = { ...emptyRequest, to: ["a@there.test"], ...request };
  checkUnsubscribe(full, (field, description) => problems.push(`${field} ${description}`));
  return problems;
}

test("an email without a topic is not checked", () => {
  assert.deepEqual(problemsOf({ cc: ["b@there.test"], headers: { "List-Unsubscribe": "<https://x.test/>" } }), []);
});

test("a topic needs one recipient and no list fields of the caller", () => {
  const unsubscribe = { topic: "news" };
  assert.deepEqual(problemsOf({ unsubscribe, headers: { "List-Id": "x", "X-List-Unsubscribe": "y" } }), []);
  assert.match(
    problemsOf({ unsubscribe, cc: ["b@there.test"], bcc: ["c@there.test"] })[0]!,
    /have 3; .*SendEmailBatch$/,
  );
  // The same address twice is one recipient, but the caller may have meant another one.
  assert.equal(problemsOf({ unsubscribe, cc: ["a@there.test"] }).length, 1);
  const headers = { "LIST-UNSUBSCRIBE": "x", "List-Unsubscribe-Post": "y" };
  assert.equal(problemsOf({ unsubscribe, headers }).length, 2);
  assert.match(problemsOf({ unsubscribe: { topic: "No" } })[0]!, /^unsubscribe\.topic must consist/);
});
