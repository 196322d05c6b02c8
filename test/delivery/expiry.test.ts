import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, makeDue, untilEvent } from "../harness/sending.ts";
import { on } from "../harness/sink-script.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({
    env: { POSTHORN_RETRY_SCHEDULE_MS: "30000,120000,300000" },
    sink: { script: on("rcpt", "451 4.3.2 System not accepting messages") },
  });
});
after(async () => await testbed.stop());

test("a receiver that replies 4xx for two days: deferred by the schedule, then bounced as TRANSIENT", async () => {
  const { sql } = testbed.database;
  const id = await accepted(testbed, { to: ["days@there.test"] });
  for (const attempt of [1, 2, 3, 4]) {
    const events = await untilEvent(testbed, id, "email.delayed");
    assert.equal(events.length, attempt);
    const [wait] = await sql<{ seconds: number }[]>`
      select extract(epoch from due_at - last_attempt_at)::float8 as seconds from recipients where status = 'delayed'`;
    const planned = [30, 120, 300, 300][attempt - 1]!;
    assert.ok(Math.abs(wait!.seconds - planned) <= planned * 0.2 + 0.1, `attempt ${attempt} waits ${wait!.seconds} s`);
    if (attempt === 4) break;
    await makeDue(testbed);
    await testbed.untilEvents(`attempt ${attempt + 1}`, (all) => all.length === attempt + 1);
  }
  // After 48 hours it bounces with the reply to the last attempt, and there is no further attempt.
  await sql`update emails set default_expires_at = service_time()`;
  await makeDue(testbed);
  const events = await untilEvent(testbed, id, "email.bounced");
  const { payload } = events.at(-1)!;
  assert.equal(payload.bounceType, "BOUNCE_TYPE_TRANSIENT");
  assert.equal(payload.category, "expired");
  assert.equal(payload.attempts, 4);
  assert.match(payload.smtpReply as string, /^451 4\.3\.2/);
  const email = await getEmail(testbed, id);
  assert.equal(email.status, "EMAIL_STATUS_FAILED");
  assert.equal(email.recipients[0]!.status, "RECIPIENT_STATUS_BOUNCED");
  assert.equal((await sql`select 1 from suppressions`).length, 0);
});

test("an email whose expiresAt is before its next attempt bounces immediately", async () => {
  const { body } = await testbed.send({
    to: ["soon@there.test"],
    expiresAt: new Date(Date.now() + 20_000).toISOString(),
  });
  assert.equal(body.status, "EMAIL_STATUS_FAILED");
  const [bounced] = await untilEvent(testbed, body.id as string, "email.bounced");
  assert.equal(bounced!.payload.bounceType, "BOUNCE_TYPE_TRANSIENT");
});

test("by default an email expires 48 hours after its scheduled time", async () => {
  const scheduledAt = new Date(Date.now() + 86_400_000);
  const email = await getEmail(testbed, await accepted(testbed, { scheduledAt: scheduledAt.toISOString() }));
  assert.equal(new Date(email.expiresAt as string).getTime() - scheduledAt.getTime(), 48 * 3_600_000);
});
