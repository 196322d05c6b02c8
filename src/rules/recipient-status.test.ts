import assert from "node:assert/strict";
import test from "node:test";
import {
  acceptedStatuses,
  next,
  openStatuses,
  type RecipientEvent,
  recipientMachine,
  recipientStatuses,
} from "./recipient-status.ts";

const events = Object.keys(recipientMachine.events) as RecipientEvent[];

test("the table names every status once", () => {
  assert.deepEqual(Object.keys(recipientMachine.states), [...recipientStatuses]);
});

test("each outcome of an open recipient leads where its name says; a deferral delays", () => {
  for (const status of openStatuses) {
    for (const event of events) {
      const expected = event === "deferred" ? "delayed" : event === "returned" ? status : event;
      assert.equal(next(status, event), expected);
    }
  }
});

test("an end is an end: only a returned message moves delivered and sent, to bounced", () => {
  for (const status of recipientStatuses.filter((s) => !(openStatuses as readonly string[]).includes(s))) {
    for (const event of events) {
      const returns = event === "returned" && (acceptedStatuses as readonly string[]).includes(status);
      assert.equal(next(status, event), returns ? "bounced" : status);
    }
  }
});
