import assert from "node:assert/strict";
import { test } from "node:test";
import type { BouncedRecipient } from "../../mail/report/fields.ts";
import { judgeReturned } from "./returned.ts";

const recipients = ["anna@there.test", "bob@there.test"].map((address, position) => ({ position, address }));
const entry = (extra: Partial<BouncedRecipient>): BouncedRecipient => ({
  addresses: [],
  action: "failed",
  status: "5.1.1",
  diagnostic: "550 5.1.1 no such user",
  remoteMta: "mx.there.test",
  ...extra,
});

test("recipients that the report marks as failed bounce once, matched by address in any case", () => {
  const report = [
    entry({ addresses: ["forwarded@else.test", " BOB@There.Test "] }),
    entry({ addresses: ["bob@there.test"], diagnostic: "552 full" }),
    entry({ addresses: ["anna@there.test"], action: "delayed" }),
  ];
  const found = judgeReturned(recipients, report);
  assert.deepEqual(
    found.map(({ recipient, outcome, remoteMta }) => [recipient.position, outcome.kind, outcome.category, remoteMta]),
    [[1, "bounced", "unknown-mailbox", "mx.there.test"]],
  );
});

test("a report about another address applies to the only recipient, and to none of several", () => {
  const report = [entry({ addresses: ["elsewhere@else.test"] })];
  assert.equal(judgeReturned(recipients.slice(0, 1), report).length, 1);
  assert.deepEqual(judgeReturned(recipients, report), []);
  assert.deepEqual(judgeReturned(recipients.slice(0, 1), [entry({ action: "relayed" })]), []);
  assert.deepEqual(judgeReturned([], report), []);
});

test("a temporary failure in a report is final, because the reporting server has stopped retrying", () => {
  const report = [entry({ status: "4.4.1", diagnostic: "connection timed out" })];
  const [only] = judgeReturned(recipients.slice(0, 1), report);
  assert.notEqual(only!.outcome.kind, "deferred");
  assert.notEqual(only!.outcome.kind, "delivered");
});

test("the diagnostic text overrides a vague status, and a report without either is a bounce", () => {
  const judged = (extra: Partial<BouncedRecipient>) =>
    judgeReturned(recipients.slice(0, 1), [entry(extra)])[0]!.outcome;
  assert.equal(judged({ status: "5.0.0", diagnostic: "550 5.1.1 xyz" }).category, "unknown-mailbox");
  assert.equal(judged({ status: "", diagnostic: "" }).kind, "bounced");
});
