import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

async function sent(request: Record<string, unknown>): Promise<{ id: string; messageId: string; headers: Threading }> {
  const { status, body } = await testbed.send(request);
  assert.equal(status, 200, JSON.stringify(body));
  const messageId = body.messageId as string;
  const delivery = testbed.sink.deliveries.find(({ data }) => data.includes(`Message-ID: ${messageId}`))!;
  const header = delivery.data
    .toString("latin1")
    .split("\r\n\r\n")[0]!
    .replace(/\r\n(?=[ \t])/g, "");
  const headerValue = (name: string) => new RegExp(`^${name}: +(.*)$`, "m").exec(header)?.[1]?.trim();
  return {
    id: body.id as string,
    messageId,
    headers: { inReplyTo: headerValue("In-Reply-To"), references: headerValue("References")?.split(/\s+/) },
  };
}

type Threading = { inReplyTo: string | undefined; references: string[] | undefined };

test("a first email has no threading headers, and each reply carries the whole chain", async () => {
  const first = await sent({});
  assert.deepEqual(first.headers, { inReplyTo: undefined, references: undefined });
  const second = await sent({ inReplyTo: first.messageId });
  assert.deepEqual(second.headers, { inReplyTo: first.messageId, references: [first.messageId] });
  // The angle brackets are optional.
  const third = await sent({ inReplyTo: second.messageId.slice(1, -1) });
  assert.deepEqual(third.headers, { inReplyTo: second.messageId, references: [first.messageId, second.messageId] });
  const fourth = await sent({ replyToEmailId: third.id });
  assert.deepEqual(fourth.headers, {
    inReplyTo: third.messageId,
    references: [first.messageId, second.messageId, third.messageId],
  });
});

test("a reply to a message that Posthorn did not send refers only to that message", async () => {
  const { headers } = await sent({ inReplyTo: "<theirs.1@elsewhere.test>" });
  assert.deepEqual(headers, { inReplyTo: "<theirs.1@elsewhere.test>", references: ["<theirs.1@elsewhere.test>"] });
});

test("explicit references take precedence", async () => {
  const first = await sent({});
  const references = ["<a@elsewhere.test>", "<b@elsewhere.test>"];
  assert.deepEqual((await sent({ inReplyTo: first.messageId, references })).headers, {
    inReplyTo: first.messageId,
    references,
  });
  assert.deepEqual((await sent({ replyToEmailId: first.id, references })).headers, {
    inReplyTo: first.messageId,
    references,
  });
  assert.deepEqual((await sent({ references })).headers, { inReplyTo: undefined, references });
});

test("a Message-ID of ours under another domain does not pull in its chain", async () => {
  const first = await sent({});
  const second = await sent({ inReplyTo: first.messageId });
  const forged = second.messageId.replace("@sender.test", "@elsewhere.test");
  assert.deepEqual((await sent({ inReplyTo: forged })).headers, { inReplyTo: forged, references: [forged] });
});

test("an unknown replyToEmailId is not found, and it cannot be combined with inReplyTo", async () => {
  const unknown = await testbed.send({ replyToEmailId: "em_01890000-0000-7000-8000-000000000000" });
  assert.equal(unknown.body.code, "not_found");
  const malformed = await testbed.send({ replyToEmailId: "nonsense" });
  assert.equal(malformed.body.code, "not_found");
  const both = await testbed.send({
    inReplyTo: "<a@b.test>",
    replyToEmailId: "em_01890000-0000-7000-8000-000000000000",
  });
  assert.equal(both.body.code, "invalid_argument");
});
