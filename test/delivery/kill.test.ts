import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { killAt, killGroups } from "../harness/kill-points.ts";

/** To run one kill point at a time, any number of times: npm run faults -- --only kill --times 50 */
describe("after kill -9 under load, twice, the ledger, the sink and the event log agree", {
  concurrency: 2,
}, () => {
  for (const points of killGroups) {
    test(points.join("; "), async (t) => {
      const { emails, duplicated, suspected, broken } = await killAt(points, 2);
      t.diagnostic(`${emails} emails, ${duplicated} recipients got a second copy, ${suspected} are flagged`);
      assert.deepEqual(broken, []);
    });
  }
});
