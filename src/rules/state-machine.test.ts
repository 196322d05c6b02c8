import assert from "node:assert/strict";
import { test } from "node:test";
import { type StateMachine, step } from "./state-machine.ts";

const door: StateMachine<"open" | "shut", "push" | "look"> = {
  ...{ name: "door", about: "A door.", initial: "open" },
  states: { open: "One can pass.", shut: "One cannot." },
  events: { push: "Somebody pushes.", look: "Somebody looks." },
  transitions: [
    { from: "open", event: "push", to: "shut" },
    { from: "shut", event: "push", to: "open" },
  ],
};

test("an event leads where the table says, and what the table does not name changes nothing", () => {
  assert.equal(step(door, "open", "push"), "shut");
  assert.equal(step(door, "shut", "push"), "open");
  assert.equal(step(door, "open", "look"), "open");
  assert.equal(step(door, "shut", "look"), "shut");
});
