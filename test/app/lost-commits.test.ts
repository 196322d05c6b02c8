import assert from "node:assert/strict";
import { test } from "node:test";
import { loseCommits } from "../faults/lost-commits.ts";
import type { Fate } from "../harness/database-proxy.ts";

for (const [fate, times] of [
  ["lose answer", 3],
  ["lose", 3],
  ["cut", 3],
  ["go away", 1],
] as [Fate, number][]) {
  test(`under load, every answer is true when a commit meets this fate: ${fate}`, async () => {
    const { injected, lost, duplicated, gaps, broken } = await loseCommits(fate, times, () => {});
    assert.deepEqual(broken, []);
    assert.deepEqual({ injected, lost, duplicated, gaps }, { injected: times, lost: 0, duplicated: 0, gaps: 0 });
  });
}
