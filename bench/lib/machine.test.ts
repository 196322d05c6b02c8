import assert from "node:assert/strict";
import test from "node:test";
import { describeMachine, readMachine } from "./machine.ts";

const machine = { cpu: "Neoverse-N1", architecture: "arm64", cores: 2, node: "24.1.0", postgres: "18.4" };

test("the machine is one line, and x86 adds what its fast signatures mean for ratios", () => {
  assert.equal(describeMachine(machine), "2 × Neoverse-N1 (arm64), Node 24.1.0, PostgreSQL 18.4\n");
  assert.match(describeMachine({ ...machine, architecture: "x64" }), /^x86: .*Do not compare ratios/m);
});

test("this machine has a version of PostgreSQL", async () => {
  assert.match((await readMachine()).postgres, /^\d+\.\d+$/);
});
