/** Three nodes that share the roles, under load: each restarted, one frozen, one killed. More often, and with the real time of a lease: npm run faults */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freezeNode, killNode, onCluster, restartInTurn } from "../faults/nodes.ts";

test("a rolling restart: every node ends with 0, nothing is in doubt, streams go on at another node; a node that stands still loses its work to another and settles none of it when it goes on; one that dies leaves it", async () => {
  const found = await onCluster(async (stage) => {
    await restartInTurn(stage, 1);
    await freezeNode(stage, "c", { hurry: true });
    await killNode(stage, "b", { hurry: true });
  });
  assert.deepEqual(found.broken, []);
  assert.deepEqual([found.lost, found.gaps, found.duplicated - found.inDoubt], [0, 0, 0]);
  assert.equal(found.injected, 5);
});
