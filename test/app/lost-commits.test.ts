import assert from "node:assert/strict";
import { test } from "node:test";
import { type Loss, loseCommits } from "../faults/lost-commits.ts";

for (const [loss, times] of [
  ["lose answer", 3],
  ["lose", 3],
  ["cut", 3],
  ["statement", 3],
  ["reset", 5],
  ["go away", 1],
] as [Loss, number][]) {
  test(`under load, every answer is true when a commit is lost this way: ${loss}`, async () => {
    const { injected, lost, duplicated, gaps, broken } = await loseCommits(loss, times, () => {});
    assert.deepEqual(broken, []);
    assert.deepEqual({ injected, lost, duplicated, gaps }, { injected: times, lost: 0, duplicated: 0, gaps: 0 });
  });
}
