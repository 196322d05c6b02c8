/** Runs every fuzz target with a few inputs from a fixed seed. For longer runs: npm run fuzz. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runTarget } from "./run.ts";
import { targets } from "./targets.ts";

for (const target of targets) {
  test(`${target.name}: no input crashes, hangs or breaks an invariant`, async () => {
    const { inputs, findings } = await runTarget(target, { seconds: 60, seed: 1, maxInputs: 40 });
    assert.deepEqual(findings, []);
    assert.equal(inputs, 40);
  });
}
