import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, untilTold } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld({ env: { POSTHORN_RETRY_SCHEDULE_MS: "600000" } });
  world.dns.zone("test");
});
after(async () => await world.stop());

async function outcome(domain: string, type: string): Promise<Record<string, unknown>> {
  const id = await accepted(world, { to: [`a@${domain}`], async: true });
  const told = await untilTold(world, id, type);
  assert.deepEqual(
    told.map((one) => one.type),
    [type],
  );
  assert.equal(
    (await getEmail(world, id)).status,
    type === "email.bounced" ? "EMAIL_STATUS_FAILED" : "EMAIL_STATUS_QUEUED",
  );
  return told[0]!.payload;
}

test("a null MX says that the domain takes no mail: bounced, and no address behind it is tried", async () => {
  world.dns.set("null.test", "MX", "0 .");
  world.dns.set("null.test", "A", "127.0.0.1");
  const { bounceType, category, enhancedCode, smtpReply } = await outcome("null.test", "email.bounced");
  assert.deepEqual([bounceType, category, enhancedCode], ["BOUNCE_TYPE_PERMANENT", "dns", "5.1.10"]);
  assert.match(smtpReply as string, /accepts no mail/);
});

test("a domain that does not exist: bounced", async () => {
  const { bounceType, enhancedCode } = await outcome("nowhere.test", "email.bounced");
  assert.deepEqual([bounceType, enhancedCode], ["BOUNCE_TYPE_PERMANENT", "5.1.2"]);
});

test("a domain that exists without any server for mail: bounced", async () => {
  world.dns.setText("text-only.test", "hello");
  assert.equal((await outcome("text-only.test", "email.bounced")).enhancedCode, "5.4.4");
});

test("a mail server at a private address is not connected to: bounced", async () => {
  world.dns.set("private.test", "MX", "10 mx.private.test");
  world.dns.set("mx.private.test", "A", "10.0.0.1");
  const { smtpReply } = await outcome("private.test", "email.bounced");
  assert.match(smtpReply as string, /private or reserved/);
});

test("DNS that fails or keeps silent is no answer: deferred", async () => {
  world.dns.behave("failing.test", "servfail");
  world.dns.behave("silent.test", "timeout");
  const [failing, silent] = await Promise.all([
    outcome("failing.test", "email.delayed"),
    outcome("silent.test", "email.delayed"),
  ]);
  assert.deepEqual([failing!.category, failing!.enhancedCode], ["dns", "4.4.3"]);
  assert.deepEqual([silent!.category, silent!.enhancedCode], ["dns", "4.4.3"]);
});

test("none of these has opened a connection, nor put an address on the suppression list", async () => {
  assert.equal(world.sink.connections.opened, 0);
  assert.equal((await world.database.sql`select 1 from suppressions`).length, 0);
});
