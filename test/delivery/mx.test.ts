import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, untilEvent } from "../harness/sending.ts";
import { type Sink, startSink } from "../harness/sink.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

/** The default sink listens at 127.0.0.1. The other sinks listen at other addresses, on the same port. */
let testbed: Testbed;
let second: Sink;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_ALLOW_PRIVATE_MX: "127.0.0.0/8,::1/128" } });
  second = await startSink({ host: "127.0.0.2", port: testbed.sink.port });
  testbed.dns.set("mx1.test", "A", "127.0.0.1");
  testbed.dns.set("mx2.test", "A", "127.0.0.2");
  // No server listens at this address.
  testbed.dns.set("mx3.test", "A", "127.0.0.3");
});
after(async () => {
  await second?.close();
  await testbed?.stop();
});

async function deliveredBy(address: string): Promise<Record<string, unknown>> {
  const id = await accepted(testbed, { to: [address] });
  const events = await untilEvent(testbed, id, "email.delivered");
  assert.equal(events.length, 1, JSON.stringify(events));
  return events[0]!.payload;
}

test("the host with the lowest preference value is tried first, whatever the order of the DNS records", async () => {
  testbed.dns.set("ordered.test", "MX", "20 mx1.test", "10 mx2.test", "30 mx3.test");
  for (let i = 0; i < 5; i++) assert.equal((await deliveredBy(`${i}@ordered.test`)).remoteMx, "mx2.test");
  assert.equal(second.accepted, 5);
});

test("hosts with the same preference share the mail", async () => {
  testbed.dns.set("shared.test", "MX", "10 mx1.test", "10 mx2.test");
  const seen = new Set<unknown>();
  // With two equal hosts, the chance that one is never picked in forty attempts is 2^-39.
  for (let i = 0; i < 40 && seen.size < 2; i++) seen.add((await deliveredBy(`${i}@shared.test`)).remoteMx);
  assert.deepEqual([...seen].sort(), ["mx1.test", "mx2.test"]);
});

test("if a host is unreachable or rejects the connection, the same attempt tries the next host", async () => {
  testbed.dns.set("down.test", "MX", "10 mx3.test", "20 mx1.test");
  const { remoteMx, attempts } = await deliveredBy("a@down.test");
  assert.deepEqual([remoteMx, attempts], ["mx1.test", 1]);

  second.script = ({ verb }) => (verb === "connect" ? "554 5.7.1 Go away" : undefined);
  second.hangUp();
  testbed.dns.set("rude.test", "MX", "10 mx2.test", "20 mx1.test");
  assert.equal((await deliveredBy("a@rude.test")).remoteMx, "mx1.test");
  second.script = () => undefined;
});

test("a host without an address is skipped", async () => {
  testbed.dns.set("dangling.test", "MX", "10 gone.test", "20 mx2.test");
  assert.equal((await deliveredBy("a@dangling.test")).remoteMx, "mx2.test");
});

test("after a rejection, the next host is not tried", async () => {
  second.script = ({ verb }) => (verb === "rcpt" ? "550 5.7.1 Not wanted here" : undefined);
  testbed.dns.set("firm.test", "MX", "10 mx2.test", "20 mx1.test");
  const id = await accepted(testbed, { to: ["a@firm.test"] });
  await untilEvent(testbed, id, "email.bounced");
  assert.equal(testbed.sink.received("a@firm.test").length, 0);
  second.script = () => undefined;
});

test("without MX records, mail goes to the domain's own address, IPv4 or IPv6", async (t) => {
  testbed.dns.set("four.test", "A", "127.0.0.2");
  assert.equal((await deliveredBy("a@four.test")).remoteMx, "four.test");
  assert.equal(second.received("a@four.test").length, 1);

  const six = await startSink({ host: "::1", port: testbed.sink.port }).catch(() => undefined);
  if (!six) return t.diagnostic("no IPv6 on this machine");
  try {
    testbed.dns.set("six.test", "AAAA", "::1");
    await deliveredBy("a@six.test");
    assert.equal(six.received("a@six.test").length, 1);
  } finally {
    await six.close();
  }
});

test("if IPv6 cannot connect, the same attempt falls back to IPv4", async () => {
  testbed.dns.set("both.test", "AAAA", "::1");
  testbed.dns.set("both.test", "A", "127.0.0.1");
  assert.equal((await deliveredBy("a@both.test")).attempts, 1);
});

test("if every host is down, the email is deferred with the reason", async () => {
  testbed.dns.set("dead.test", "MX", "10 mx3.test");
  const id = await accepted(testbed, { to: ["a@dead.test"] });
  const [delayed] = await untilEvent(testbed, id, "email.delayed");
  assert.equal(delayed!.payload.category, "network");
  const { lastReply } = (await getEmail(testbed, id)).recipients[0]!;
  assert.match(lastReply, /ECONNREFUSED/);
  assert.doesNotMatch(lastReply, /127\.0\.0/, "a tenant does not learn the address");
  await testbed.call("EmailService/CancelEmail", { id });
});
