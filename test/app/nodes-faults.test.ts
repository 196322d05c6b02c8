/** Three nodes that share the roles, under load: each is restarted, one frozen, one killed. `npm run faults` does it more often and with
 * the real lease time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freezeNode, killNode, onCluster, restartInTurn } from "../faults/nodes.ts";

test("restarted, frozen and killed nodes lose no mail: restarts leave nothing in doubt, and other nodes take over the work of frozen and killed ones", async () => {
  const found = await onCluster(async (stage) => {
    await restartInTurn(stage, 1);
    await freezeNode(stage, "c", { hurry: true });
    await killNode(stage, "b", { hurry: true });
  });
  assert.deepEqual(found.broken, []);
  assert.deepEqual([found.lost, found.gaps, found.duplicated - found.inDoubt], [0, 0, 0]);
  assert.equal(found.injected, 5);
});
