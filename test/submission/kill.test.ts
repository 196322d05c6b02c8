/** A client that repeats a message after every failure, without an idempotency key: its own Message-ID is enough. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { killAt } from "../harness/kill-points.ts";
import { submitAgain } from "../harness/submission.ts";

/** To run one kill point at a time, any number of times: npm run faults -- --only "over SMTP" --times 50 */
describe("after kill -9 while mail is submitted, twice, the ledger, the sink and the event log agree", {
  concurrency: 2,
}, () => {
  for (const points of [
    ["while a message arrives", "before the answer to an accept that is committed"],
    ["before the accept is committed"],
  ]) {
    test(points.join("; "), async (t) => {
      const { emails, duplicated, broken } = await killAt(points, 2, { send: submitAgain });
      t.diagnostic(`${emails} emails, ${duplicated} recipients got a second copy`);
      assert.deepEqual(broken, []);
    });
  }
});
