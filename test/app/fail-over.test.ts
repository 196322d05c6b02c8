/** Fail-overs between replicated servers under load: one planned, one after a kill and one during a split, with a synchronous standby and
 * without. `npm run faults` does it more often. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { failOver } from "../faults/fail-over.ts";
import { withoutReplicas } from "../harness/replicas.ts";

describe("fail-overs", { skip: withoutReplicas }, () => {
  test("with a synchronous standby, no acknowledged email is lost, and second copies are flagged", async () => {
    const found = await failOver({
      synchronous: true,
      kinds: ["planned", "kill", "split"],
      times: 1,
      progress: () => {},
    });
    assert.deepEqual(found.broken, []);
    assert.deepEqual([found.lost, found.gaps, found.duplicated - found.inDoubt], [0, 0, 0]);
    assert.equal(found.injected, 3);
  });

  test("without one, what the new primary lacks is told by a cut of the log", async () => {
    const found = await failOver({ synchronous: false, kinds: ["split"], times: 1, progress: () => {} });
    assert.deepEqual(found.broken, []);
    assert.match(found.note!, /^[1-9]\d* acknowledged emails were only on the old primary/);
  });
});
