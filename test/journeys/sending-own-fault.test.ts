import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, makeDue, untilTold } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld({ env: { POSTHORN_RETRY_SCHEDULE_MS: "600000" } });
});
after(async () => await world.stop());

test("an email that our own program trips over is put off like another, fails when its time is over, and holds nobody up", async () => {
  const { sql } = world.database;
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const id = await accepted(world, { to: ["broken@there.test"], scheduledAt });
  await sql`update email_contents set data = 'this is no JSON'`;
  await makeDue(world);
  await accepted(world, { to: ["whole@there.test"] });
  const [delayed] = await untilTold(world, id, "email.delayed");
  assert.equal(delayed!.payload.category, "internal");
  assert.equal(delayed!.payload.attempts, 1);
  assert.equal(world.sink.received("whole@there.test").length, 1);

  await sql`update emails set expires_at = now() where status = 'queued'`;
  await makeDue(world);
  const told = await untilTold(world, id, "email.failed");
  assert.equal(told.length, 2);
  assert.equal(told[1]!.payload.category, "internal");
  assert.equal((await getEmail(world, id)).status, "EMAIL_STATUS_FAILED");
  assert.equal(world.sink.received("broken@there.test").length, 0);
});

test("what attempts came to stands in /metrics", async () => {
  const text = await (await fetch(`${world.program.opsUrl}/metrics`)).text();
  assert.match(text, /^posthorn_delivery_attempts_total\{outcome="delivered"\} 1$/m);
  assert.match(text, /^posthorn_delivery_attempts_total\{outcome="delayed"\} 1$/m);
  assert.match(text, /^posthorn_delivery_attempts_total\{outcome="failed"\} 1$/m);
  assert.match(text, /^posthorn_delivery_in_hand_recipients 0$/m);
  assert.match(text, /^posthorn_delivery_attempt_seconds_count 3$/m);
});
