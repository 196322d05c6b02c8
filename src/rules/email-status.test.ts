import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { type EmailStatus, emailMachine, emailStatuses, next } from "./email-status.ts";

const counters = (open: number, accepted: number, inFlight = 0, total = 3) => ({ total, open, accepted, inFlight });

test("the table names every status once", () => {
  assert.deepEqual(Object.keys(emailMachine.states), [...emailStatuses]);
});

for (const [name, from, c, to] of [
  ["taken up", "queued", counters(3, 0, 1), "processing"],
  ["still waiting", "queued", counters(3, 0), "queued"],
  ["one settled, others in flight", "processing", counters(2, 1, 2), "processing"],
  ["every open recipient deferred", "processing", counters(2, 1), "queued"],
  ["all ended, one accepted", "processing", counters(0, 1), "sent"],
  ["all ended, none accepted", "processing", counters(0, 0), "failed"],
  ["canceled before any attempt", "queued", counters(0, 0), "failed"],
  ["canceled after one was accepted", "queued", counters(0, 1), "sent"],
] as const) {
  test(name, () => assert.equal(next(from, c), to));
}

test("sent and failed are final, also when a delivered message is returned later", () => {
  const any = fc.record({ total: fc.nat(50), open: fc.nat(50), accepted: fc.nat(50), inFlight: fc.nat(50) });
  fc.assert(
    fc.property(fc.constantFrom<EmailStatus>("sent", "failed"), any, (status, c) =>
      assert.equal(next(status, c), status),
    ),
  );
});
