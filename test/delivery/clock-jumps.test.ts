/** The database's clock jumps while the program runs: mail is accepted, sent, retried and kept, and no call fails. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { uuidTime } from "../../src/postgres/ids.ts";
import { accepted, getEmail, untilEvent } from "../harness/sending.ts";
import { byRecipient } from "../harness/sink-script.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { shiftWallTime } from "../harness/time.ts";
import { until } from "../harness/wait.ts";

const dayMs = 86_400_000;

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({
    env: { POSTHORN_RETRY_SCHEDULE_MS: "86400000" },
    sink: { script: byRecipient({ later: "451 4.3.2 later" }) },
  });
});
after(async () => await testbed.stop());

/** Waits until the program has followed a jump: its ids have the new time. */
async function jump(days: number): Promise<void> {
  const { sql } = testbed.database;
  await shiftWallTime(sql, `${days} days`);
  await until(`ids of ${days} days ahead`, async () => {
    const id = await accepted(testbed, { to: [`jump${days}@there.test`] });
    return Math.abs(uuidTime(id.slice("em_".length)) - Date.now() - days * dayMs) < dayMs / 2;
  });
}

test("jumps of 3, -30 and 400 days and back lose, expire, hold and skip nothing", async () => {
  const delayed = await accepted(testbed, { to: ["later@there.test"] });
  await untilEvent(testbed, delayed, "email.delayed");
  const scheduledAt = new Date(Date.now() + 10 * dayMs).toISOString();
  const scheduled = await accepted(testbed, { to: ["scheduled@there.test"], scheduledAt });
  const key = { "idempotency-key": "one" };
  const first = await testbed.send({ to: ["once@there.test"] }, key);
  for (const days of [3, -30, 400]) {
    await jump(days);
    const { body } = await testbed.send({ to: ["once@there.test"] }, key);
    assert.equal(body.id, first.body.id, `${days} days: the key is kept`);
    assert.equal((await getEmail(testbed, delayed)).status, "EMAIL_STATUS_QUEUED", `${days} days: not expired`);
    const events = await testbed.events();
    assert.deepEqual(
      events.filter(({ event }) => event.type === "email.bounced" || event.type === "email.failed"),
      [],
      `${days} days`,
    );
    if (days < 10) assert.equal((await getEmail(testbed, scheduled)).status, "EMAIL_STATUS_QUEUED");
  }
  // Its wall time has come.
  await untilEvent(testbed, scheduled, "email.delivered");
  await jump(0);
  const events = await testbed.events();
  assert.deepEqual(
    events.map(({ cursor }) => Number(cursor)),
    events.map((_, i) => i + 1),
    "the log is dense",
  );
});
