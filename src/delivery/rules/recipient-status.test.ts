import assert from "node:assert/strict";
import test from "node:test";
import { step } from "../../ops/state-machine.ts";
import {
  acceptedStatuses,
  openStatuses,
  type RecipientEvent,
  recipientMachine,
  recipientStatuses,
} from "./recipient-status.ts";

const events = Object.keys(recipientMachine.events) as RecipientEvent[];

test("the table names every status once", () => {
  assert.deepEqual(Object.keys(recipientMachine.states), [...recipientStatuses]);
});

test("an open recipient takes the status of its event; a deferral delays it", () => {
  for (const status of openStatuses) {
    for (const event of events) {
      const expected = event === "deferred" ? "delayed" : event === "returned" ? status : event;
      assert.equal(step(recipientMachine, status, event), expected);
    }
  }
});

test("a final status does not change, except from delivered or sent to bounced when the message is returned", () => {
  for (const status of recipientStatuses.filter((s) => !(openStatuses as readonly string[]).includes(s))) {
    for (const event of events) {
      const returns = event === "returned" && (acceptedStatuses as readonly string[]).includes(status);
      assert.equal(step(recipientMachine, status, event), returns ? "bounced" : status);
    }
  }
});
