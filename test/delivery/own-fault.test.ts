/** Internal errors during delivery, caused here by a stored email that cannot be parsed. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, makeDue, untilEvent } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_RETRY_SCHEDULE_MS: "600000" } });
});
after(async () => await testbed.stop());

test("an email that causes an internal error is deferred, fails when it expires, and does not delay other mail", async () => {
  const { sql } = testbed.database;
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const id = await accepted(testbed, { to: ["broken@there.test"], scheduledAt });
  await sql`update email_contents set data = 'this is no JSON'`;
  await makeDue(testbed);
  await accepted(testbed, { to: ["whole@there.test"] });
  const [delayed] = await untilEvent(testbed, id, "email.delayed");
  assert.equal(delayed!.payload.category, "internal");
  assert.equal(delayed!.payload.attempts, 1);
  assert.equal(testbed.sink.received("whole@there.test").length, 1);

  await sql`update emails set default_expires_at = service_time() where status = 'queued'`;
  await makeDue(testbed);
  const events = await untilEvent(testbed, id, "email.failed");
  assert.equal(events.length, 2);
  assert.equal(events[1]!.payload.category, "internal");
  assert.equal((await getEmail(testbed, id)).status, "EMAIL_STATUS_FAILED");
  assert.equal(testbed.sink.received("broken@there.test").length, 0);
});

test("/metrics counts attempts by outcome", async () => {
  const text = await (await fetch(`${testbed.program.opsUrl}/metrics`)).text();
  assert.match(text, /^posthorn_delivery_attempts_total\{outcome="delivered"\} 1$/m);
  assert.match(text, /^posthorn_delivery_attempts_total\{outcome="delayed"\} 1$/m);
  assert.match(text, /^posthorn_delivery_attempts_total\{outcome="failed"\} 1$/m);
  assert.match(text, /^posthorn_delivery_in_hand_recipients 0$/m);
  assert.match(text, /^posthorn_delivery_attempt_seconds_count 3$/m);
});
