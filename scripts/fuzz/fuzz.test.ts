/** Every fuzz target with a few inputs, which are always the same ones. By hand: node scripts/fuzz.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runTarget } from "./run.ts";
import { targets } from "./targets.ts";

for (const target of targets) {
  test(`${target.name}: nothing crashes, hangs or gets through`, async () => {
    const { inputs, findings } = await runTarget(target, { seconds: 60, seed: 1, mostInputs: 40 });
    assert.deepEqual(findings, []);
    assert.equal(inputs, 40);
  });
}
