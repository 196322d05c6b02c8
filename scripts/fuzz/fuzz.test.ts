/** Every fuzz target for a moment, from a seed that is always the same: what was found once stays found. By hand: node scripts/fuzz.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runTarget } from "./run.ts";
import { targets } from "./targets.ts";

for (const target of targets) {
  test(`${target.name}: nothing crashes, hangs or gets through`, async () => {
    const { inputs, findings } = await runTarget(target, { seconds: 0.25, seed: 1, mostInputs: 150 });
    assert.deepEqual(findings, []);
    assert.ok(inputs > 0);
  });
}
