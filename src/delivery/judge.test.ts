import assert from "node:assert/strict";
import { test } from "node:test";
import type { Evidence } from "../smtp/client/evidence.ts";
import { createJudge } from "./judge.ts";
import type { Leased } from "./store/lease.ts";

const judge = createJudge({
  scheduleMs: [1_000_000],
  doubtScheduleMs: [5_000_000],
  nowMs: () => 0,
  serviceMs: () => 0,
  makeEventId: () => "1",
});
const conversation = { relay: false, remoteMx: "mx.there.test", tls: undefined };
const later: Evidence = {
  kind: "refused",
  phase: "rcpt",
  reply: { code: 451, enhanced: "4.7.1", text: "Greylisted", line: "451 4.7.1 Greylisted" },
};

function leased(emailId: string, position: number, attempts = 0): Leased {
  const email = { defaultExpiresAt: new Date(1e9) };
  const row = { emailId, position, attempts, address: `${position}@there.test`, doubts: 0, inDoubt: false, email };
  return row as unknown as Leased;
}

test("recipients of an email that are deferred together are due together, different emails at different times", () => {
  const waitOf = (emailId: string, position: number) =>
    judge.judge(leased(emailId, position), later, conversation)!.dueInMs!;
  const waits = Array.from({ length: 50 }, (_, i) => {
    const emailId = `01932c5e-7b1a-7abc-8def-0123456789${String(i).padStart(2, "0")}`;
    assert.equal(waitOf(emailId, 0), waitOf(emailId, 7));
    return waitOf(emailId, 0);
  });
  assert.ok(waits.every((ms) => ms >= 800_000 && ms <= 1_200_000));
  assert.ok(Math.min(...waits) < 900_000 && Math.max(...waits) > 1_100_000, "spread over the whole jitter");
});

test("an attempt that was aborted before the final dot is released, and one after it is in doubt", () => {
  const aborted = (phase: "data" | "after-dot"): Evidence => ({ kind: "aborted", phase, message: "stopped" });
  assert.equal(judge.judge(leased("e", 0), aborted("data"), conversation), undefined);
  const inDoubt = judge.judge(leased("e", 0), aborted("after-dot"), conversation)!;
  assert.deepEqual([inDoubt.status, inDoubt.inDoubt, inDoubt.doubts], ["delayed", true, 1]);
});
