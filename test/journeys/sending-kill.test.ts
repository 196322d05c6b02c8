import { describe, test } from "node:test";
import { killAt, killPoints } from "../harness/kill-points.ts";

/** Fifty times at each point: node scripts/kill-points.ts */
describe("kill -9 under load, three times: ledger, sink and event log agree", { concurrency: 2 }, () => {
  for (const point of Object.keys(killPoints)) {
    test(point, async (t) => {
      const { emails, recipients, duplicates } = await killAt(point, 3);
      t.diagnostic(`${emails} emails, ${recipients} recipients, ${duplicates} of them got a second copy, flagged`);
    });
  }
});
