import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, makeDue, untilTold } from "../harness/sending.ts";
import { on } from "../harness/sink.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld({
    env: { POSTHORN_RETRY_SCHEDULE_MS: "30000,120000,300000" },
    sink: { script: on("rcpt", "451 4.3.2 System not accepting messages") },
  });
});
after(async () => await world.stop());

test("a receiver that says 4xx for two days: deferred by the schedule, then bounced, TRANSIENT", async () => {
  const { sql } = world.database;
  const id = await accepted(world, { to: ["days@there.test"] });
  for (const attempt of [1, 2, 3, 4]) {
    const told = await untilTold(world, id, "email.delayed");
    assert.equal(told.length, attempt);
    const [wait] = await sql<{ seconds: number }[]>`
      select extract(epoch from due_at - last_attempt_at)::float8 as seconds from recipients where status = 'delayed'`;
    const planned = [30, 120, 300, 300][attempt - 1]!;
    assert.ok(Math.abs(wait!.seconds - planned) <= planned * 0.2 + 0.1, `attempt ${attempt} waits ${wait!.seconds} s`);
    if (attempt === 4) break;
    await makeDue(world);
    await world.untilEvents(`attempt ${attempt + 1}`, (events) => events.length === attempt + 1);
  }
  // 48 hours later it is given up, with what the last attempt was told; nothing is sent after its time.
  await sql`update emails set expires_at = now()`;
  await makeDue(world);
  const told = await untilTold(world, id, "email.bounced");
  const { payload } = told.at(-1)!;
  assert.equal(payload.bounceType, "BOUNCE_TYPE_TRANSIENT");
  assert.equal(payload.category, "expired");
  assert.equal(payload.attempts, 4);
  assert.match(payload.smtpReply as string, /^451 4\.3\.2/);
  const email = await getEmail(world, id);
  assert.equal(email.status, "EMAIL_STATUS_FAILED");
  assert.equal(email.recipients[0]!.status, "RECIPIENT_STATUS_BOUNCED");
  assert.equal((await sql`select 1 from suppressions`).length, 0);
});

test("an email's own expiresAt ends it: no wait that could not be followed by an attempt", async () => {
  const { body } = await world.send({
    to: ["soon@there.test"],
    expiresAt: new Date(Date.now() + 20_000).toISOString(),
  });
  assert.equal(body.status, "EMAIL_STATUS_FAILED");
  const [bounced] = await untilTold(world, body.id as string, "email.bounced");
  assert.equal(bounced!.payload.bounceType, "BOUNCE_TYPE_TRANSIENT");
});

test("by default an email is tried for 48 hours from when it is due", async () => {
  const scheduledAt = new Date(Date.now() + 86_400_000);
  const email = await getEmail(world, await accepted(world, { scheduledAt: scheduledAt.toISOString() }));
  assert.equal(new Date(email.expiresAt as string).getTime() - scheduledAt.getTime(), 48 * 3_600_000);
});
