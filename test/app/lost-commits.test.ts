import assert from "node:assert/strict";
import { test } from "node:test";
import { type Loss, loseCommits } from "../faults/lost-commits.ts";

for (const [loss, times] of [
  ["lose answer", 2],
  ["lose", 2],
  ["cut", 2],
  ["statement", 2],
  ["reset", 3],
  ["go away", 1],
] as [Loss, number][]) {
  test(`under load, every answer is true when a commit is lost this way: ${loss}`, async () => {
    const { injected, lost, duplicated, gaps, broken } = await loseCommits(loss, times, () => {});
    assert.deepEqual(broken, []);
    assert.deepEqual({ injected, lost, duplicated, gaps }, { injected: times, lost: 0, duplicated: 0, gaps: 0 });
  });
}
