import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, untilEvent } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_RETRY_SCHEDULE_MS: "600000" } });
  testbed.dns.zone("test");
});
after(async () => await testbed.stop());

async function outcome(domain: string, type: string): Promise<Record<string, unknown>> {
  const id = await accepted(testbed, { to: [`a@${domain}`], async: true });
  const events = await untilEvent(testbed, id, type);
  assert.deepEqual(
    events.map((event) => event.type),
    [type],
  );
  assert.equal(
    (await getEmail(testbed, id)).status,
    type === "email.bounced" ? "EMAIL_STATUS_FAILED" : "EMAIL_STATUS_QUEUED",
  );
  return events[0]!.payload;
}

test("a null MX means that the domain accepts no mail: bounced without trying the domain's address", async () => {
  testbed.dns.set("null.test", "MX", "0 .");
  testbed.dns.set("null.test", "A", "127.0.0.1");
  const { bounceType, category, enhancedCode, smtpReply } = await outcome("null.test", "email.bounced");
  assert.deepEqual([bounceType, category, enhancedCode], ["BOUNCE_TYPE_PERMANENT", "dns", "5.1.10"]);
  assert.match(smtpReply as string, /accepts no mail/);
});

test("a domain that does not exist: bounced", async () => {
  const { bounceType, enhancedCode } = await outcome("nowhere.test", "email.bounced");
  assert.deepEqual([bounceType, enhancedCode], ["BOUNCE_TYPE_PERMANENT", "5.1.2"]);
});

test("a domain without a mail server: bounced", async () => {
  testbed.dns.setText("text-only.test", "hello");
  assert.equal((await outcome("text-only.test", "email.bounced")).enhancedCode, "5.4.4");
});

test("a mail server at a private address: bounced without a connection", async () => {
  testbed.dns.set("private.test", "MX", "10 mx.private.test");
  testbed.dns.set("mx.private.test", "A", "10.0.0.1");
  const { smtpReply } = await outcome("private.test", "email.bounced");
  assert.match(smtpReply as string, /mx\.private\.test resolves to an address that is not public/);
  assert.doesNotMatch(smtpReply as string, /10\.0\.0\.1/, "a tenant does not learn what the operator's DNS returns");
});

test("a DNS lookup that fails or times out: deferred", async () => {
  testbed.dns.behave("failing.test", "servfail");
  testbed.dns.behave("silent.test", "timeout");
  const [failing, silent] = await Promise.all([
    outcome("failing.test", "email.delayed"),
    outcome("silent.test", "email.delayed"),
  ]);
  assert.deepEqual([failing!.category, failing!.enhancedCode], ["dns", "4.4.3"]);
  assert.deepEqual([silent!.category, silent!.enhancedCode], ["dns", "4.4.3"]);
});

test("none of these opened a connection or suppressed an address", async () => {
  assert.equal(testbed.sink.connections.opened, 0);
  assert.equal((await testbed.database.sql`select 1 from suppressions`).length, 0);
});

test("a failed lookup of MX records does not slow down the other domains of the same receiver", async () => {
  testbed.dns.ttl = 0;
  for (const domain of ["broken-later.test", "healthy.test"]) testbed.dns.set(domain, "MX", "10 mx.receiver.test");
  testbed.dns.set("mx.receiver.test", "A", "127.0.0.1");
  const send = (domain: string) => accepted(testbed, { to: [`a@${domain}`], async: true });
  for (const domain of ["broken-later.test", "healthy.test"])
    await untilEvent(testbed, await send(domain), "email.delivered");
  testbed.dns.behave("broken-later.test", "servfail");
  const [delayed] = await untilEvent(testbed, await send("broken-later.test"), "email.delayed");
  assert.equal(delayed!.payload.category, "dns");
  await untilEvent(testbed, await send("healthy.test"), "email.delivered");
  const sites = await testbed.database.sql<{ site: string }[]>`select site from sites where failures > 0`;
  assert.ok(!sites.some(({ site }) => site === "receiver.test"));
});
