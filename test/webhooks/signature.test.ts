import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, untilEvent } from "../harness/sending.ts";
import { startWebhookTestbed, verifies, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({ env: { POSTHORN_LOG_LEVEL: "trace" } });
});
after(async () => await testbed.stop());

test("an event is posted as ListEvents returns it, with a signature that standardwebhooks and svix verify", async () => {
  const webhook = await testbed.createWebhook({ url: `${testbed.receiver.url}/hook?tenant=7` });
  assert.match(webhook.secret, /^whsec_/);
  const metadata = { order: "Grüße 4711 🙂" };
  const emailId = await accepted(testbed, { to: ["a@there.test"], subject: "Only for Anna", metadata });
  await testbed.receiver.until("the event", ({ requests }) => requests.length === 1);
  const [request] = testbed.receiver.requests;

  assert.equal(request!.path, "/hook?tenant=7");
  assert.ok(verifies(request!, webhook.secret));
  assert.equal(verifies(request!, `whsec_${Buffer.alloc(32).toString("base64")}`), false);
  assert.equal(verifies({ ...request!, body: request!.body.replace("delivered", "bounced") }, webhook.secret), false);

  const [entry] = await testbed.untilEvents("the event", (events) => events.length === 1);
  assert.deepEqual(JSON.parse(request!.body), entry!.event, "the body is the event as ListEvents returns it");
  assert.equal(request!.headers["webhook-id"], entry!.event.id);
  assert.deepEqual(
    [request!.event.type, request!.event.emailId, request!.event.metadata],
    ["email.delivered", emailId, metadata],
  );
  assert.match(request!.headers["content-type"]!, /^application\/json/);
  assert.match(request!.headers["user-agent"]!, /^Posthorn-Webhooks\//);

  const [delivery] = await testbed.untilDeliveries(
    "its settlement",
    webhook.id,
    ([one]) => one?.settledAt !== undefined,
  );
  assert.deepEqual(
    [delivery!.status, delivery!.attempts, delivery!.responseStatus, delivery!.error, delivery!.cursor],
    ["WEBHOOK_DELIVERY_STATUS_DELIVERED", 1, 200, "", entry!.cursor],
  );
  assert.equal(delivery!.payload, request!.body, "the delivery log keeps the posted body");
  assert.match(delivery!.responseHead, /^HTTP\/1\.1 200 OK\n/);
});

test("neither secrets nor content are written to the program's log when a delivery fails", async () => {
  const webhook = await testbed.createWebhook({ url: `${testbed.receiver.url}/trouble` });
  const responseBody = "the endpoint's own words, said in confidence";
  testbed.receiver.script = ({ path }) => (path === "/trouble" ? { status: 410, body: responseBody } : 200);
  const id = await accepted(testbed, {
    to: ["a@there.test"],
    subject: "Between us",
    metadata: { order: "in confidence" },
  });
  await untilEvent(testbed, id, "email.delivered");
  await testbed.untilEvents("webhook.disabled", (all) => all.some(({ event }) => event.type === "webhook.disabled"));
  const rotated = await testbed.ask("RotateWebhookSecret", { id: webhook.id });
  assert.equal(await testbed.program.stop(), 0);
  const log = testbed.program.output();
  assert.match(log, /a webhook was disabled/);
  for (const secret of [webhook.secret, rotated.signingSecret as string])
    for (const part of [secret, secret.slice("whsec_".length), "whsec_"]) assert.ok(!log.includes(part), "a secret");
  for (const text of [responseBody, "in confidence", "Only for Anna", "Between us", "4711"])
    assert.ok(!log.includes(text), text);
});
