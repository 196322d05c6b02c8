import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { killAt, killsTogether } from "../harness/kill-points.ts";

/** One point at a time, as often as you like: npm run faults -- --only kill --times 50 */
describe("kill -9 under load, three times: ledger, sink and event log agree", { concurrency: 2 }, () => {
  for (const points of killsTogether) {
    test(points.join("; "), async (t) => {
      const { emails, duplicated, broken } = await killAt(points, 3);
      t.diagnostic(`${emails} emails, ${duplicated} recipients got a second copy, flagged`);
      assert.deepEqual(broken, []);
    });
  }
});
