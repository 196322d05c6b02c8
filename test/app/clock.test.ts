/** The clock of the program or of the database jumps under load and comes back: the short form of `npm run faults -- --only clock`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deferring, jumpLoad, jumpUnderLoad, type MoveClock, shortOrders } from "../harness/clock-jumps.ts";
import { createMovedClock, startMovedClockServer, withoutMovedClock } from "../harness/moved-clock.ts";
import type { TestbedOptions } from "../harness/testbed.ts";
import { shiftWallTime } from "../harness/time.ts";
import { underLoad } from "../harness/under-load.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";

async function assertUnharmed(options: TestbedOptions, move: (testbed: WebhookTestbed) => MoveClock): Promise<void> {
  const start = () => startWebhookTestbed({ sink: { script: deferring }, ...options });
  const found = await underLoad<WebhookTestbed>({ start, load: { ...jumpLoad, senders: 2 } }, async (run) => {
    await jumpUnderLoad(run, { orders: shortOrders, move: move(run.testbed) });
  });
  assert.deepEqual(found.broken, []);
  assert.deepEqual([found.lost, found.gaps, found.duplicated], [0, 0, 0]);
  assert.equal(found.injected, shortOrders[0].length);
}

// Most of each test is waiting for heartbeats, so they run at the same time.
describe("mail, webhooks and stored rows are unharmed", { concurrency: true }, () => {
  test("when the database's clock jumps, seen through wall_time()", async () => {
    await assertUnharmed(
      {},
      ({ database }) =>
        (days) =>
          shiftWallTime(database.sql, `${days} days`),
    );
  });

  test("when the program's clock jumps", { skip: withoutMovedClock }, async () => {
    const clock = await createMovedClock();
    try {
      await assertUnharmed({ env: clock.env }, () => clock.set);
    } finally {
      await clock.remove();
    }
  });

  test("when PostgreSQL's clock jumps", { skip: withoutMovedClock }, async () => {
    const clock = await createMovedClock();
    const server = await startMovedClockServer(clock);
    try {
      await assertUnharmed({ server }, () => clock.set);
    } finally {
      await clock.set(0);
      await server.stop();
      await clock.remove();
    }
  });
});
