/** Connections that lead to no message, and messages that hold memory without progress: they give way to other senders. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { dialSmtp, type SmtpClient } from "../harness/smtp-client.ts";
import { until } from "../harness/wait.ts";

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
});
after(async () => await testbed.stop());

const clients: SmtpClient[] = [];
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await until("all sessions have ended", async () => (await sessions()) === 0);
});

function dial(address?: string): SmtpClient {
  const client = dialSmtp(testbed.smtpPort, address);
  clients.push(client);
  return client;
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${testbed.program.opsUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)`, "m").exec(text)?.[1] ?? 0);
}
const sessions = () => metric("posthorn_inbound_sessions");

const address = "us@sender.test";
const lines = (bytes: number) => `${"x".repeat(998)}\r\n`.repeat(Math.floor(bytes / 1000));

test("one address gets 50 connections, and the next one gets its own", async () => {
  const greetings = await Promise.all(Array.from({ length: 60 }, () => dial("127.0.0.66").reply()));
  const count = (pattern: RegExp) => greetings.filter((text) => pattern.test(text ?? "")).length;
  assert.deepEqual([count(/^220 /), count(/^421 4\.7\.0 /)], [50, 10]);
  assert.match((await dial().reply()) ?? "", /^220 /);
  assert.equal(await metric('posthorn_inbound_sessions_given_up_total\\{reason="connections"\\}'), 10);
});

test("1,000 half-open sessions give way to mail", async () => {
  const idle = Array.from({ length: 984 }, (_, i) => dial(`127.0.1.${1 + (i % 246)}`));
  for (const client of idle) assert.match((await client.reply()) ?? "", /^220 /);
  // The last places go to addresses that have none.
  for (let i = 0; i < 16; i++) assert.match((await dial(`127.0.2.${1 + i}`).reply()) ?? "", /^220 /);
  assert.equal(await sessions(), 1000);
  for (let i = 0; i < 3; i++)
    assert.match(
      (await dial(`127.0.3.${1 + i}`).sendMessage(address, `Subject: newcomer ${i}\r\n\r\nHello\r\n`)) ?? "",
      /^250 /,
    );
  const ended = await Promise.race(idle.map((client) => client.reply()));
  assert.match(ended ?? "", /^421 4\.7\.0 /);
});

test("nine messages of one address that stop arriving leave memory to others", async () => {
  const bad = Array.from({ length: 9 }, () => dial("127.0.0.66"));
  for (const client of bad) {
    await client.beginMessage(address);
    client.socket.write(lines(15_000_000));
  }
  assert.match((await dial().sendMessage(address, `Subject: 12 MB\r\n\r\n${lines(12_000_000)}`)) ?? "", /^250 /);
  // Those above the share of the address have been dropped, and hear of it at the end of their message.
  const replies = await Promise.all(bad.map((client) => client.command("\r\n.")));
  const refused = replies.filter((reply) => /^452 4\.3\.1 /.test(reply ?? ""));
  assert.ok(refused.length >= 5, replies.join());
});

test("when memory is short, a message that stopped arriving gives way", async () => {
  const bad = Array.from({ length: 9 }, (_, i) => dial(`127.0.2.${1 + i}`));
  for (const client of bad) {
    await client.beginMessage(address);
    client.socket.write(lines(13_000_000));
  }
  assert.match((await dial().sendMessage(address, "Subject: small\r\n\r\nHello\r\n")) ?? "", /^250 /);
  await until(
    "the messages use up the memory",
    async () => (await metric("posthorn_inbound_message_bytes")) > 115_000_000,
  );
  await until("a large message is accepted", async () => {
    const client = dial();
    const reply = await client.sendMessage(address, `Subject: large\r\n\r\n${lines(12_000_000)}`);
    client.socket.destroy();
    return /^250 /.test(reply ?? "");
  });
  const ended = await Promise.race(bad.map((client) => client.reply()));
  assert.match(ended ?? "", /^421 4\.3\.1 /);
});
