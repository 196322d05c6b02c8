/** Messages that are expensive to read: they are refused, or cost their sender's turns, and the mail of others is accepted. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventsOfType, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { dialSmtp } from "../harness/smtp-client.ts";

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
});
after(async () => await testbed.stop());

const address = "us@sender.test";
const attacker = "127.0.0.66";

async function send(raw: string | Buffer, from?: string): Promise<string> {
  const client = dialSmtp(testbed.smtpPort, from);
  try {
    return (await client.sendMessage(address, raw)) ?? "closed";
  } finally {
    client.socket.destroy();
  }
}

const small = (subject: string) => `From: bob@there.test\r\nSubject: ${subject}\r\n\r\nHello\r\n`;

async function textsOf(subject: string): Promise<{ id: string; body: string | null }> {
  const [row] = await testbed.database.sql<{ id: string; body: string | null }[]>`
    select id, body from inbound_messages where subject = ${subject}`;
  return row!;
}

test("ten messages of 990,000 empty lines are refused for good, and mail of others is accepted", async () => {
  const raw = `Subject: empty lines\r\n\r\n${"\r\n".repeat(990_000)}`;
  const bad = Array.from({ length: 10 }, () => send(raw, attacker));
  assert.match(await send(small("next to empty lines")), /^250 /);
  for (const reply of await Promise.all(bad)) assert.equal(reply, "554 5.6.0 more than 100000 lines");
});

test("an attachment may have more lines than a text", async () => {
  const lines = `${"QUJD".repeat(19)}\r\n`.repeat(150_000);
  const raw = `Subject: many lines\r\nContent-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines}`;
  assert.match(await send(raw), /^250 /);
  const { body } = await testbed.call("InboundService/ListInbound", { search: "many lines" });
  const [inbound] = body.data as { id: string; attachments: { id: string; sizeBytes: number }[] }[];
  assert.equal(inbound!.attachments[0]!.sizeBytes, 150_000 * 57);
  const read = await testbed.call("InboundService/GetInboundAttachment", { id: inbound!.id, attachmentId: "1" });
  const content = Buffer.from(read.body.content as string, "base64");
  assert.ok(content.equals(Buffer.alloc(150_000 * 57, "ABC")));
});

test("the texts of a message are stored when it arrives, and reading it needs its content no more", async () => {
  assert.match(await send(`Subject: many empty lines\r\n\r\nabove${"\r\n".repeat(65_000)}below\r\n`), /^250 /);
  const { id, body } = await textsOf("many empty lines");
  assert.match(body ?? "", /^above\n+below$/);
  await testbed.database.sql`delete from inbound_contents where inbound_id = ${id}`;
  const [event] = eventsOfType(await testbed.events(), "email.received").filter(
    ({ subject }) => subject === "many empty lines",
  );
  const calls = Array.from({ length: 6 }, () => testbed.call("InboundService/GetInbound", { id: event!.inboundId }));
  for (const answer of await Promise.all(calls)) {
    assert.equal(answer.status, 200);
    assert.equal(answer.body.body, body);
  }
});

test("messages with 25 signatures are checked one after the other, and the mail of others is accepted in between", async () => {
  const signature = (i: number) =>
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=d${i}.test; s=s; l=${1_000_000 + i}; h=from; bh=AAAA; b=AAAA\r\n`;
  const head = Array.from({ length: 25 }, (_, i) => signature(i)).join("");
  const raw = `${head}From: eve@there.test\r\nSubject: signed\r\n\r\n${`${"x".repeat(76)}\r\n`.repeat(13_000)}`;
  const order: string[] = [];
  const bad = Array.from({ length: 8 }, (_, i) =>
    send(raw.replace("signed", `signed ${i}`), attacker).then((reply) => {
      order.push("attacker");
      return reply;
    }),
  );
  for (let i = 0; i < 4; i++) {
    assert.match(await send(small(`next to signatures ${i}`)), /^250 /);
    order.push("other");
  }
  for (const reply of await Promise.all(bad)) assert.match(reply, /^250 /);
  assert.ok(order.lastIndexOf("other") < order.lastIndexOf("attacker"), order.join());
});
