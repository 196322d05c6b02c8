/** A recipient unsubscribes from a topic with one click, and gets no more mail with it until the sender undoes it. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { needs } from "../harness/foreign.ts";
import { python } from "../harness/python.ts";
import { accepted, eventsOf, getEmail, makeDue, untilEvent } from "../harness/sending.ts";
import { selector, senderDomain, senderPublicKey } from "../harness/testbed.ts";
import { entriesOf, linkOf, oneClick, post, publicUrl, sendWithLink } from "../harness/unsubscribe.ts";
import { until } from "../harness/wait.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({ env: { POSTHORN_PUBLIC_URL: publicUrl } });
});
after(async () => await testbed.stop());

const record = `v=DKIM1; k=rsa; p=${senderPublicKey}`;

test("one click ends the topic, with an event and a webhook, and the API brings it back", async () => {
  await testbed.createWebhook({ eventTypes: ["email.unsubscribed"] });
  const to = "ann@there.test";
  const { id, path } = await sendWithLink(testbed, "Ann@there.test", "news", { metadata: { order: "7" } });
  assert.equal((await getEmail(testbed, id)).unsubscribeTopic, "news");

  const answer = await post(testbed, path);
  assert.deepEqual([answer.status, answer.text], [200, "You are unsubscribed from news.\n"]);
  assert.equal(answer.headers.get("set-cookie"), null);
  const payload = {
    recipients: ["Ann@there.test"],
    topic: "news",
    method: "UNSUBSCRIBE_METHOD_ONE_CLICK",
    resubscribed: false,
  };
  const written = await untilEvent(testbed, id, "email.unsubscribed");
  assert.deepEqual(written.at(-1)!.payload, payload);
  const hooked = await until("the webhook", async () => testbed.receiver.requests[0]);
  assert.deepEqual([hooked.event.type, hooked.event.emailId], ["email.unsubscribed", id]);
  assert.deepEqual([hooked.event.metadata, hooked.event.unsubscribed], [{ order: "7" }, payload]);

  const [entry] = await entriesOf(testbed);
  assert.deepEqual(
    [entry!.address, entry!.topic, entry!.method, entry!.emailId, entry!.sourceEventId],
    [to, "news", "UNSUBSCRIBE_METHOD_ONE_CLICK", id, hooked.event.id],
  );

  // Repeating it changes nothing, whatever form the body has.
  const multipart = new FormData();
  multipart.set("List-Unsubscribe", "One-Click");
  for (const body of [oneClick, `${oneClick}\r\n`, multipart])
    assert.equal((await post(testbed, path, body)).status, 200);
  const types = (await eventsOf(testbed, id)).map(({ type }) => type);
  assert.deepEqual(types, ["email.delivered", "email.unsubscribed"]);

  const second = await accepted(testbed, { to: ["ANN@there.test"], unsubscribe: { topic: "news" } });
  const [suppressed] = await untilEvent(testbed, second, "email.suppressed");
  assert.deepEqual(suppressed!.payload, {
    recipients: ["ANN@there.test"],
    reason: "SUPPRESSION_REASON_UNSUBSCRIBED",
    sourceEventId: hooked.event.id,
    topic: "news",
  });
  assert.match((await getEmail(testbed, second)).statusMessage, /unsubscribed from news/);

  // Other topics and mail without one are not affected.
  await sendWithLink(testbed, to, "offers");
  const plain = await accepted(testbed, { to: [to] });
  await untilEvent(testbed, plain, "email.delivered");
  const { body } = await testbed.call("SuppressionService/ListSuppressions", {});
  assert.deepEqual(body.data, []);

  const removed = await testbed.call("SuppressionService/RemoveUnsubscribe", {
    address: "Ann@There.test",
    topic: "news",
  });
  assert.equal(removed.status, 200, JSON.stringify(removed.body));
  await sendWithLink(testbed, to, "news");
  assert.deepEqual(await entriesOf(testbed), []);
});

test("a multipart form unsubscribes, and both fields are signed", async () => {
  const to = "bea@there.test";
  const id = await accepted(testbed, { to: [to], unsubscribe: { topic: "weekly.digest-2" } });
  const { data } = testbed.sink.received(to)[0]!;
  const { results } = await dkimVerify(data, { resolver: async () => [[record]] });
  assert.equal(results[0]!.status.result, "pass");
  const signature = /^DKIM-Signature:(?:.*\r\n[ \t])*.*/m.exec(data.toString("latin1"))![0].replace(/\s/g, "");
  const names = /;h=([^;]*);/.exec(signature)![1]!.toLowerCase().split(":");
  // Oversigned: twice for a field that occurs once.
  for (const name of ["list-unsubscribe", "list-unsubscribe-post"])
    assert.equal(names.filter((one) => one === name).length, 2, name);
  const form = new FormData();
  form.set("List-Unsubscribe", "One-Click");
  assert.equal((await post(testbed, linkOf(data), form)).status, 200);
  await untilEvent(testbed, id, "email.unsubscribed");
});

test("python3-dkim verifies the message, and not one with another link", { skip: needs("python3-dkim") }, async () => {
  await sendWithLink(testbed, "cid@there.test", "news");
  const { data } = testbed.sink.received("cid@there.test")[0]!;
  const other = Buffer.from(data.toString("latin1").replace(`<${publicUrl}/`, "<https://evil.test/"), "latin1");
  const script = `
import base64, dkim, json, sys
lookup = lambda name, timeout=5: sys.argv[2].encode() if name.decode().rstrip(".") == sys.argv[1] else None
print(json.dumps([dkim.verify(base64.b64decode(m), dnsfunc=lookup) for m in json.load(sys.stdin)]))
`;
  const input = Buffer.from(JSON.stringify([data, other].map((one) => one.toString("base64"))));
  assert.deepEqual(await python<boolean[]>(script, input, [`${selector}._domainkey.${senderDomain}`, record]), [
    true,
    false,
  ]);
});

test("it is checked when the email is due, and the batch gives each recipient a link of its own", async () => {
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const { path } = await sendWithLink(testbed, "dan@there.test", "news");
  const queued = await accepted(testbed, { to: ["dan@there.test"], unsubscribe: { topic: "news" }, scheduledAt });
  assert.equal((await post(testbed, path)).status, 200);
  await makeDue(testbed);
  await untilEvent(testbed, queued, "email.suppressed");

  const email = { from: "news@sender.test", subject: "S", body: "B", unsubscribe: { topic: "news" } };
  const { body } = await testbed.call("EmailService/SendEmailBatch", {
    emails: [
      { ...email, to: ["eve@there.test"] },
      { ...email, to: ["fay@there.test"] },
      { ...email, to: ["a@there.test", "b@there.test"] },
    ],
  });
  const [eve, fay, both] = body.data as { id?: string; error?: { message: string } }[];
  assert.match(both!.error!.message, /SendEmailBatch/);
  await untilEvent(testbed, eve!.id!, "email.delivered");
  await untilEvent(testbed, fay!.id!, "email.delivered");
  const links = ["eve", "fay"].map((name) => linkOf(testbed.sink.received(`${name}@there.test`)[0]!.data));
  assert.notEqual(links[0], links[1]);
  await post(testbed, links[0]!);
  assert.equal((await entriesOf(testbed, { search: "eve@" })).length, 1);
  assert.deepEqual(await entriesOf(testbed, { search: "fay@" }), []);
});

test("two clicks at the same time write one event", async () => {
  const { id, path } = await sendWithLink(testbed, "gus@there.test", "news");
  const answers = await Promise.all(Array.from({ length: 8 }, () => post(testbed, path)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  const events = await eventsOf(testbed, id);
  assert.equal(events.filter(({ type }) => type === "email.unsubscribed").length, 1);
});

test("the link works after the email is gone, and then the event names no email", async () => {
  const { id, path } = await sendWithLink(testbed, "hal@there.test", "news");
  const { sql } = testbed.database;
  await sql`delete from recipients where address = 'hal@there.test'`;
  await sql`delete from emails where id = ${id.slice(3)}`;
  assert.equal((await post(testbed, path)).status, 200);
  const events = await testbed.untilEvents("the event", (all) =>
    all.some(({ event }) => (event.unsubscribed as { recipients: string[] })?.recipients[0] === "hal@there.test"),
  );
  assert.equal(events.at(-1)!.event.emailId, "");
});

test("the link of a test email writes one event, and unsubscribes no person", async () => {
  const key = (await testbed.call("KeyService/CreateKey", { name: "t", permission: "KEY_PERMISSION_FULL", test: true }))
    .body.secret as string;
  const request = {
    from: "news@sender.test",
    to: ["ida@there.test"],
    subject: "S",
    body: "B",
    unsubscribe: { topic: "news" },
  };
  const sent = await testbed.call("EmailService/SendEmail", request, { key });
  const id = sent.body.id as string;
  const { body } = await testbed.call("EmailService/GetEmailContent", { id });
  const path = linkOf(Buffer.from(body.raw as string, "base64"));
  for (const _ of [1, 2]) assert.match((await post(testbed, path)).text, /test email: nothing was changed/);
  const events = (await eventsOf(testbed, id)).filter(({ type }) => type === "email.unsubscribed");
  assert.equal(events.length, 1);
  assert.deepEqual(await entriesOf(testbed, { search: "ida@" }), []);
  await sendWithLink(testbed, "ida@there.test", "news");
});

test("mail without a topic has no new field", async () => {
  await accepted(testbed, { to: ["jan@there.test"] });
  const { data } = testbed.sink.received("jan@there.test")[0]!;
  assert.doesNotMatch(data.toString("latin1"), /unsubscribe/i);
});
