import assert from "node:assert/strict";
import { test } from "node:test";
import type { BouncedRecipient } from "../../mail/report/fields.ts";
import { judgeReturned } from "./returned.ts";

const anna = "anna@there.test";
const entry = (extra: Partial<BouncedRecipient>): BouncedRecipient => ({
  addresses: [],
  action: "failed",
  status: "5.1.1",
  diagnostic: "550 5.1.1 no such user",
  remoteMta: "mx.there.test",
  ...extra,
});

test("the entry with the recipient's address decides, matched in any case", () => {
  const report = [
    entry({ addresses: ["bob@there.test"], diagnostic: "552 5.2.2 full" }),
    entry({ addresses: ["forwarded@else.test", " ANNA@There.Test "], remoteMta: "mx2.there.test" }),
    entry({ addresses: [anna], diagnostic: "552 5.2.2 full" }),
  ];
  const found = judgeReturned(anna, report)!;
  assert.deepEqual(
    [found.outcome.kind, found.outcome.category, found.remoteMta],
    ["bounced", "unknown-mailbox", "mx2.there.test"],
  );
});

test("a report about another address applies to the recipient of the path, which may have forwarded the email", () => {
  const found = judgeReturned(anna, [entry({ addresses: ["x@else.test"], action: "relayed" }), entry({})]);
  assert.equal(found?.outcome.kind, "bounced");
});

test("without a failure of the recipient nothing has bounced", () => {
  assert.equal(judgeReturned(anna, [entry({ action: "relayed" }), entry({ action: "delayed" })]), undefined);
  const others = [entry({ addresses: ["bob@there.test"] }), entry({ addresses: [anna], action: "delivered" })];
  assert.equal(judgeReturned(anna, others), undefined, "its own entry says that it was delivered");
  assert.equal(judgeReturned(anna, []), undefined);
});

test("a temporary failure in a report is final, because the reporting server has stopped retrying", () => {
  const only = judgeReturned(anna, [entry({ status: "4.4.1", diagnostic: "connection timed out" })]);
  assert.notEqual(only!.outcome.kind, "deferred");
  assert.notEqual(only!.outcome.kind, "delivered");
});

test("the diagnostic text overrides a vague status, and a report without either is a bounce", () => {
  const judged = (extra: Partial<BouncedRecipient>) => judgeReturned(anna, [entry(extra)])!.outcome;
  assert.equal(judged({ status: "5.0.0", diagnostic: "550 5.1.1 xyz" }).category, "unknown-mailbox");
  assert.equal(judged({ status: "", diagnostic: "" }).kind, "bounced");
});
