/** Strangers and tenants that flood the port for submission: the mail of other tenants is accepted. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { type Neighbours, startNeighbours, type Tenant } from "../harness/neighbours.ts";
import { dialSmtp, type SmtpClient } from "../harness/smtp-client.ts";
import { until } from "../harness/wait.ts";

let neighbours: Neighbours;
before(async () => {
  neighbours = await startNeighbours({
    env: { POSTHORN_DELIVERY: "capture", POSTHORN_RATE_PER_SECOND: "5", POSTHORN_RATE_BURST: "60" },
  });
});
after(async () => await neighbours?.stop());

const clients: SmtpClient[] = [];
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await until("all sessions have ended", async () => (await metric("posthorn_submission_sessions")) === 0);
});

function dial(address?: string): SmtpClient {
  const client = dialSmtp(neighbours.program.ports.submission!, address);
  clients.push(client);
  return client;
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${neighbours.program.opsUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)`, "m").exec(text)?.[1] ?? 0);
}

async function session({ key }: Tenant, address?: string): Promise<SmtpClient> {
  const client = dial(address);
  assert.equal(await client.logIn(key), "235 2.7.0 authenticated");
  return client;
}

const messageOf = ({ domain }: Tenant, text = "Hello\r\n") => `From: us@${domain}\r\nTo: a@there.test\r\n\r\n${text}`;
const lines = (bytes: number, octet = "x") => `${octet.repeat(900)}\r\n`.repeat(Math.floor(bytes / 902));

async function submitAs(tenant: Tenant, address?: string): Promise<string> {
  const client = await session(tenant, address);
  return (await client.sendMessage("a@there.test", messageOf(tenant))) ?? "closed";
}

test("strangers from one address use up its sessions, not those of another address", async () => {
  const greetings = await Promise.all(Array.from({ length: 210 }, () => dial("127.0.0.66").reply()));
  const count = (pattern: RegExp) => greetings.filter((text) => pattern.test(text ?? "")).length;
  assert.deepEqual([count(/^220 /), count(/^421 4\.7\.0 /)], [200, 10]);
  assert.match(await submitAs(neighbours.other), /^250 2\.0\.0 queued as em_/);
});

test("1,000 sessions that send nothing give way to mail", async () => {
  const idle = Array.from({ length: 984 }, (_, i) => dial(`127.0.1.${1 + (i % 246)}`));
  for (const client of idle) assert.match((await client.reply()) ?? "", /^220 /);
  // The last places go to addresses that have none.
  for (let i = 0; i < 16; i++) assert.match((await dial(`127.0.2.${1 + i}`).reply()) ?? "", /^220 /);
  for (let i = 0; i < 3; i++) assert.match(await submitAs(neighbours.other, `127.0.99.${1 + i}`), /^250 /);
  assert.match((await Promise.race(idle.map((client) => client.reply()))) ?? "", /^421 4\.7\.0 /);
});

test("a tenant has 100 sessions, and others of the same address have theirs", async () => {
  const opened = await Promise.all(Array.from({ length: 105 }, () => dial().logIn(neighbours.attacker.key)));
  const count = (pattern: RegExp) => opened.filter((text) => pattern.test(text ?? "")).length;
  assert.deepEqual([count(/^235 /), count(/^454 4\.7\.0 too many sessions/)], [100, 5]);
  assert.match(await submitAs(neighbours.other), /^250 /);
  for (const { socket } of clients.splice(0)) socket.destroy();
  await until("the sessions have ended", async () => (await metric("posthorn_submission_sessions")) === 0);
  await session(neighbours.attacker);
});

test("guesses from an address shut out neither a key that is in use nor other addresses", async () => {
  const { other } = neighbours;
  assert.match(await submitAs(other), /^250 /);
  const replies: (string | undefined)[] = [];
  await Promise.all(
    Array.from({ length: 60 }, async (_, i) => replies.push(await dial().logIn(`ph_guess${i}_xxxxxxxx`))),
  );
  for (let i = 0; i < 10; i++) replies.push(await dial().logIn(`ph_again${i}_xxxxxxxx`));
  assert.ok(
    replies.some((reply) => reply?.startsWith("454 4.7.0 Too many attempts")),
    replies.join(),
  );
  assert.ok(!replies.some((reply) => reply?.startsWith("235")));
  assert.match(await submitAs(other), /^250 /);
  assert.match(await submitAs(neighbours.attacker, "127.0.0.77"), /^250 /);
});

test("messages of a tenant that stop arriving leave memory to others", async () => {
  const { attacker, other } = neighbours;
  const bad: SmtpClient[] = [];
  for (let i = 0; i < 9; i++) {
    const client = await session(attacker);
    await client.beginMessage("a@there.test");
    client.socket.write(lines(15_000_000));
    bad.push(client);
  }
  const client = await session(other);
  assert.match((await client.sendMessage("a@there.test", messageOf(other, lines(12_000_000)))) ?? "", /^250 /);
  const replies = await Promise.all(bad.map((one) => one.command("\r\n.")));
  assert.ok(replies.filter((reply) => /^452 4\.3\.1 /.test(reply ?? "")).length >= 3, replies.join());
});

test("messages that are expensive to encode take the turns of their tenant, and mail of others is accepted in between", async () => {
  const { attacker, other } = neighbours;
  const order: string[] = [];
  // Quoted-printable is counted octet by octet before base64 is chosen.
  const raw = Buffer.from(messageOf(attacker, lines(8_000_000, "\u00ff")), "latin1");
  const bad = Array.from({ length: 6 }, async () => {
    const reply = await (await session(attacker)).sendMessage("a@there.test", raw);
    order.push("attacker");
    return reply;
  });
  for (let i = 0; i < 3; i++) {
    assert.match(await submitAs(other), /^250 /);
    order.push("other");
  }
  for (const reply of await Promise.all(bad)) assert.match(reply ?? "", /^250 |^451 4\./);
  assert.notEqual(order.slice(-3).join(), "other,other,other");
});

test("a tenant that sends faster than its rate is slowed, and others are not", async () => {
  const { attacker, other } = neighbours;
  const flood = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const client = await session(attacker);
      const replies: string[] = [];
      for (let i = 0; i < 12; i++)
        replies.push((await client.sendMessage("a@there.test", messageOf(attacker))) ?? "closed");
      return replies;
    }),
  );
  const all = flood.flat();
  assert.ok(all.some((reply) => /^250 /.test(reply)));
  assert.ok(
    all.some((reply) => /^451 4\.7\.1 .*\(wait \d+ s\)$/.test(reply)),
    all.at(-1),
  );
  assert.match(await submitAs(other), /^250 /);
});
