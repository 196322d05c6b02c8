/** Three nodes that share the roles, under load: each restarted, one frozen, one killed. More often, and with the real time of a lease: npm run faults */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freezeNode, killNode, onCluster, rollingRestart } from "../faults/nodes.ts";
import type { Findings } from "../harness/under-load.ts";

function assertKept(found: Findings): void {
  assert.deepEqual(found.broken, []);
  assert.deepEqual([found.lost, found.gaps, found.duplicated - found.inDoubt], [0, 0, 0]);
}

test("a rolling restart: every node ends with 0, nothing is in doubt, streams go on at another node", async () => {
  const found = await rollingRestart(1, () => {});
  assertKept(found);
  assert.deepEqual([found.injected, found.duplicated], [3, 0]);
});

test("a node that stands still loses its work to another and settles none of it when it goes on; one that dies leaves it", async () => {
  const found = await onCluster(async (stage) => {
    await freezeNode(stage, "c", { hurry: true });
    await killNode(stage, "b", { hurry: true });
  });
  assertKept(found);
  assert.equal(found.injected, 2);
});
