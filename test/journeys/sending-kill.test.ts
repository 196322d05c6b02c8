import { test } from "node:test";
import { killAt, killPoints } from "../harness/kill-points.ts";

/** Fifty per point: node scripts/kill-points.ts */
for (const point of Object.keys(killPoints)) {
  test(`kill -9 under load, three times, ${point}: ledger, sink and event log agree`, async (t) => {
    const { emails, recipients, duplicates } = await killAt(point, 3);
    t.diagnostic(`${emails} emails, ${recipients} recipients, ${duplicates} of them got a second copy, flagged`);
  });
}
