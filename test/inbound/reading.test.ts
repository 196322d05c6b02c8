import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { deliverInbound, eventsOfType, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { createKey } from "../harness/workspaces.ts";

type Inbound = {
  id: string;
  subject: string;
  to: string[];
  parentEmailId: string;
  attachments: { id: string; filename: string; contentType: string; sizeBytes: number }[];
  sizeBytes: number;
  receivedAt: string;
} & Record<string, unknown>;

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
});
after(async () => await testbed.stop());

const call = (method: string, request: unknown, key?: string) =>
  testbed.call(`InboundService/${method}`, request, key ? { key } : {});

async function list(request: Record<string, unknown>): Promise<Inbound[]> {
  const { status, body } = await call("ListInbound", request);
  assert.equal(status, 200, JSON.stringify(body));
  return body.data as Inbound[];
}

/** Larger than one chunk of storing or parsing: 2 MB before base64. */
const file = Buffer.alloc(2_000_000, "posthorn ");
const messageOf = (subject: string, extra = "") => `From: "Smith, Ann" <ann@there.test>
To: us@sender.test
Subject: ${subject}
Message-ID: <${subject.replaceAll(" ", ".")}@there.test>
${extra}MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=_b"

--=_b
Content-Type: multipart/alternative; boundary="=_c"

--=_c
Content-Type: text/plain; charset=utf-8

Grüße

> what you wrote
--=_c
Content-Type: text/html; charset=utf-8

<p>Grüße</p>
--=_c--
--=_b
Content-Type: application/octet-stream
Content-Disposition: attachment; filename="data.bin"
Content-Transfer-Encoding: base64

${file.toString("base64").replace(/.{76}/g, "$&\n")}
--=_b--
`;

test("a large message is listed, its parts and attachment can be read, and its raw content is unchanged", async () => {
  const raw = messageOf("large one");
  await deliverInbound(testbed, { to: ["us@sender.test", "them@sender.test"], raw });
  const [inbound] = await list({ search: "large one" });
  assert.ok(inbound);
  assert.equal(inbound.from, '"Smith, Ann" <ann@there.test>');
  assert.deepEqual(inbound.to, ["us@sender.test", "them@sender.test"]);
  assert.equal(inbound.domain, "sender.test");
  assert.equal(inbound.autoSubmitted, false);
  const { body } = await call("GetInbound", { id: inbound.id });
  assert.match(body.body as string, /Grüße\n\n> what you wrote/);
  assert.equal(body.newText, "Grüße");
  assert.match(body.html as string, /<p>Grüße<\/p>/);
  const content = await call("GetInboundContent", { id: inbound.id });
  const bytes = Buffer.from(content.body.raw as string, "base64");
  assert.equal(bytes.toString(), raw.replace(/\n/g, "\r\n"));
  assert.equal(inbound.sizeBytes, bytes.length);
  const [attachment] = inbound.attachments;
  const opened = await call("GetInboundAttachment", { id: inbound.id, attachmentId: attachment!.id });
  assert.deepEqual(opened.body.attachment, attachment);
  assert.equal(attachment!.sizeBytes, file.length);
  assert.ok(Buffer.from(opened.body.content as string, "base64").equals(file));
  const missing = await call("GetInboundAttachment", { id: inbound.id, attachmentId: "9" });
  assert.equal(missing.body.code, "not_found");
});

test("the list is filtered, and its pages together contain every message", async () => {
  const sent = (await testbed.send({})).body as { id: string; messageId: string };
  for (const n of [1, 2, 3])
    await deliverInbound(testbed, {
      to: `box${n}@sender.test`,
      raw: `From: bob@there.test\nSubject: page ${n}\nMessage-ID: <page${n}@there.test>\nIn-Reply-To: ${sent.messageId}\n\nhi\n`,
    });
  const subjects = (rows: Inbound[]) => rows.map(({ subject }) => subject);
  assert.deepEqual(subjects(await list({ parentEmailId: sent.id })), ["page 3", "page 2", "page 1"]);
  assert.deepEqual(subjects(await list({ recipient: "box2@sender.test" })), ["page 2"]);
  assert.deepEqual(subjects(await list({ search: "<page1@there.test>" })), ["page 1"]);
  assert.deepEqual(subjects(await list({ domain: "other.test" })), []);
  const [newest] = await list({ pageSize: 1 });
  assert.deepEqual(subjects(await list({ receivedAfter: newest!.receivedAt, search: "page" })), ["page 3"]);
  assert.deepEqual(subjects(await list({ search: newest!.id })), ["page 3"]);
  const pages: Inbound[] = [];
  for (let pageToken = ""; ; ) {
    const { body } = await call("ListInbound", { pageSize: 2, pageToken });
    pages.push(...(body.data as Inbound[]));
    pageToken = body.nextPageToken as string;
    if (pageToken === "") break;
  }
  assert.deepEqual(
    pages.map(({ id }) => id),
    (await list({ pageSize: 100 })).map(({ id }) => id),
  );
});

test("a read key sees the list and the events, but no message text", async () => {
  const { secret } = await createKey(testbed.program, { permission: "READ" });
  const [newest] = await list({ pageSize: 1 });
  assert.equal((await call("ListInbound", {}, secret)).status, 200);
  for (const method of ["GetInbound", "GetInboundContent"])
    assert.equal((await call(method, { id: newest!.id }, secret)).body.code, "permission_denied");
  const { body } = await testbed.call("EmailService/ListEvents", { types: ["email.replied"] }, { key: secret });
  const [entry] = body.data as { event: { replied: Record<string, unknown> } }[];
  assert.equal(entry!.event.replied.body, "");
  assert.equal(entry!.event.replied.subject, "page 1");
});

test("an email with the id of an inbound message as replyToEmailId joins its thread", async () => {
  await deliverInbound(testbed, {
    to: "us@sender.test",
    raw: "From: carl@there.test\nSubject: question\nMessage-ID: <q2@there.test>\nReferences: <q0@there.test> <q1@there.test>\n\n?\n",
  });
  const [question] = eventsOfType(await testbed.events(), "email.received").filter(
    ({ subject }) => subject === "question",
  );
  const { body } = await testbed.send({ to: ["carl@there.test"], replyToEmailId: question!.inboundId });
  const delivery = testbed.sink.deliveries.find(({ data }) => data.includes(`Message-ID: ${body.messageId}`))!;
  const header = delivery.data.toString("latin1").replace(/\r\n[ \t]+/g, " ");
  assert.match(header, /^In-Reply-To: <q2@there\.test>\r$/m);
  assert.match(header, /^References: <q0@there\.test> <q1@there\.test> <q2@there\.test>\r$/m);
});
