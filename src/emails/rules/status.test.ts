import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { step } from "../../ops/state-machine.ts";
import { type EmailCounters, type EmailStatus, emailEvent, emailMachine, emailStatuses } from "./status.ts";

const next = (status: EmailStatus, counters: EmailCounters) => step(emailMachine, status, emailEvent(counters));
const counters = (open: number, accepted: number, inFlight = 0, total = 3) => ({ total, open, accepted, inFlight });

test("the table lists every status once", () => {
  assert.deepEqual(Object.keys(emailMachine.states), [...emailStatuses]);
});

for (const [name, from, c, to] of [
  ["an attempt starts", "queued", counters(3, 0, 1), "processing"],
  ["every recipient is waiting", "queued", counters(3, 0), "queued"],
  ["one recipient is settled, others are in flight", "processing", counters(2, 1, 2), "processing"],
  ["every open recipient is deferred", "processing", counters(2, 1), "queued"],
  ["all recipients are settled, one is accepted", "processing", counters(0, 1), "sent"],
  ["all recipients are settled, none is accepted", "processing", counters(0, 0), "failed"],
  ["the email is canceled before any attempt", "queued", counters(0, 0), "failed"],
  ["the email is canceled after one recipient was accepted", "queued", counters(0, 1), "sent"],
] as const) {
  test(`${from} becomes ${to} if ${name}`, () => assert.equal(next(from, c), to));
}

test("sent and failed are final, even if a delivered message is returned later", () => {
  const any = fc.record({ total: fc.nat(50), open: fc.nat(50), accepted: fc.nat(50), inFlight: fc.nat(50) });
  fc.assert(
    fc.property(fc.constantFrom<EmailStatus>("sent", "failed"), any, (status, c) =>
      assert.equal(next(status, c), status),
    ),
  );
});
