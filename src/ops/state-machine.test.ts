import assert from "node:assert/strict";
import { test } from "node:test";
import { type StateMachine, step } from "./state-machine.ts";

const lamp: StateMachine<"on" | "off", "press" | "inspect"> = {
  name: "lamp",
  about: "The status of a lamp.",
  initial: "on",
  states: { on: "The lamp shines.", off: "The lamp is dark." },
  events: { press: "A user presses the switch.", inspect: "A user inspects the lamp." },
  transitions: [
    { from: "on", event: "press", to: "off" },
    { from: "off", event: "press", to: "on" },
  ],
};

test("an event follows its transition, and an event without one leaves the state unchanged", () => {
  assert.equal(step(lamp, "on", "press"), "off");
  assert.equal(step(lamp, "off", "press"), "on");
  assert.equal(step(lamp, "on", "inspect"), "on");
  assert.equal(step(lamp, "off", "inspect"), "off");
});
