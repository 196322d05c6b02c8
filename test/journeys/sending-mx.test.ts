import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, untilTold } from "../harness/sending.ts";
import { type Sink, startSink } from "../harness/sink.ts";
import { startWorld, type World } from "../harness/world.ts";

/** The world's sink is at 127.0.0.1; others of the same port are at addresses of their own. */
let world: World;
let second: Sink;
before(async () => {
  world = await startWorld({ env: { POSTHORN_ALLOW_PRIVATE_MX: "127.0.0.0/8,::1/128" } });
  second = await startSink({ host: "127.0.0.2", port: world.sink.port });
  world.dns.set("mx1.test", "A", "127.0.0.1");
  world.dns.set("mx2.test", "A", "127.0.0.2");
  // Nothing listens there.
  world.dns.set("mx3.test", "A", "127.0.0.3");
});
after(async () => {
  await second?.close();
  await world?.stop();
});

async function deliveredBy(address: string): Promise<Record<string, unknown>> {
  const id = await accepted(world, { to: [address] });
  const told = await untilTold(world, id, "email.delivered");
  assert.equal(told.length, 1, JSON.stringify(told));
  return told[0]!.payload;
}

test("the host of lowest preference is asked first, in whatever order DNS names them", async () => {
  world.dns.set("ordered.test", "MX", "20 mx1.test", "10 mx2.test", "30 mx3.test");
  for (let i = 0; i < 5; i++) assert.equal((await deliveredBy(`${i}@ordered.test`)).remoteMx, "mx2.test");
  assert.equal(second.accepted, 5);
});

test("hosts of one preference share the mail", async () => {
  world.dns.set("shared.test", "MX", "10 mx1.test", "10 mx2.test");
  const seen = new Set<unknown>();
  // Two equal hosts: that one of them is never drawn in forty throws happens once in 10^12 runs.
  for (let i = 0; i < 40 && seen.size < 2; i++) seen.add((await deliveredBy(`${i}@shared.test`)).remoteMx);
  assert.deepEqual([...seen].sort(), ["mx1.test", "mx2.test"]);
});

test("a host that cannot be reached, or will not talk, is passed by for the next, in the same attempt", async () => {
  world.dns.set("down.test", "MX", "10 mx3.test", "20 mx1.test");
  const { remoteMx, attempts } = await deliveredBy("a@down.test");
  assert.deepEqual([remoteMx, attempts], ["mx1.test", 1]);

  second.script = ({ verb }) => (verb === "connect" ? "554 5.7.1 Go away" : undefined);
  second.hangUp();
  world.dns.set("rude.test", "MX", "10 mx2.test", "20 mx1.test");
  assert.equal((await deliveredBy("a@rude.test")).remoteMx, "mx1.test");
  second.script = () => undefined;
});

test("a host without an address is passed by as well", async () => {
  world.dns.set("dangling.test", "MX", "10 gone.test", "20 mx2.test");
  assert.equal((await deliveredBy("a@dangling.test")).remoteMx, "mx2.test");
});

test("a refusal is an answer: the next host is not asked for a second opinion", async () => {
  second.script = ({ verb }) => (verb === "rcpt" ? "550 5.7.1 Not wanted here" : undefined);
  world.dns.set("firm.test", "MX", "10 mx2.test", "20 mx1.test");
  const id = await accepted(world, { to: ["a@firm.test"] });
  await untilTold(world, id, "email.bounced");
  assert.equal(world.sink.received("a@firm.test").length, 0);
  second.script = () => undefined;
});

test("without MX the domain's own address takes the mail, IPv4 or IPv6", async (t) => {
  world.dns.set("four.test", "A", "127.0.0.2");
  assert.equal((await deliveredBy("a@four.test")).remoteMx, "four.test");
  assert.equal(second.received("a@four.test").length, 1);

  const six = await startSink({ host: "::1", port: world.sink.port }).catch(() => undefined);
  if (!six) return t.diagnostic("no IPv6 on this machine");
  try {
    world.dns.set("six.test", "AAAA", "::1");
    await deliveredBy("a@six.test");
    assert.equal(six.received("a@six.test").length, 1);
  } finally {
    await six.close();
  }
});

test("where IPv6 leads nowhere, IPv4 takes over in the same attempt", async () => {
  world.dns.set("both.test", "AAAA", "::1");
  world.dns.set("both.test", "A", "127.0.0.1");
  assert.equal((await deliveredBy("a@both.test")).attempts, 1);
});

test("a host that is down altogether defers the mail; the email says why", async () => {
  world.dns.set("dead.test", "MX", "10 mx3.test");
  const id = await accepted(world, { to: ["a@dead.test"] });
  const [delayed] = await untilTold(world, id, "email.delayed");
  assert.equal(delayed!.payload.category, "network");
  assert.match((await getEmail(world, id)).recipients[0]!.lastReply, /ECONNREFUSED/);
  await world.call("EmailService/CancelEmail", { id });
});
