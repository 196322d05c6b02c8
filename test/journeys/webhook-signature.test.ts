import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, untilTold } from "../harness/sending.ts";
import { startWebhookWorld, verifies, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld({ env: { POSTHORN_LOG_LEVEL: "trace" } });
});
after(async () => await world.stop());

test("an event arrives signed, as the log shows it, and standardwebhooks and svix both take it", async () => {
  const webhook = await world.createWebhook({ url: `${world.receiver.url}/hook?tenant=7` });
  assert.match(webhook.secret, /^whsec_/);
  const metadata = { order: "Grüße 4711 🙂" };
  const emailId = await accepted(world, { to: ["a@there.test"], subject: "Only for Anna", metadata });
  await world.receiver.until("the event", ({ requests }) => requests.length === 1);
  const [request] = world.receiver.requests;

  assert.equal(request!.path, "/hook?tenant=7");
  assert.ok(verifies(request!, webhook.secret));
  assert.equal(verifies(request!, `whsec_${Buffer.alloc(32).toString("base64")}`), false);
  assert.equal(verifies({ ...request!, body: request!.body.replace("delivered", "bounced") }, webhook.secret), false);

  const [entry] = await world.untilEvents("the event", (events) => events.length === 1);
  assert.deepEqual(JSON.parse(request!.body), entry!.event, "the body is the event as the log shows it");
  assert.equal(request!.headers["webhook-id"], entry!.event.id);
  assert.deepEqual(
    [request!.event.type, request!.event.emailId, request!.event.metadata],
    ["email.delivered", emailId, metadata],
  );
  assert.match(request!.headers["content-type"]!, /^application\/json/);
  assert.match(request!.headers["user-agent"]!, /^Posthorn-Webhooks\//);

  const [delivery] = await world.untilDeliveries("its settlement", webhook.id, ([one]) => one?.settledAt !== undefined);
  assert.deepEqual(
    [delivery!.status, delivery!.attempts, delivery!.responseStatus, delivery!.error, delivery!.cursor],
    ["WEBHOOK_DELIVERY_STATUS_DELIVERED", 1, 200, "", entry!.cursor],
  );
  assert.equal(delivery!.payload, request!.body, "the log keeps what was posted");
  assert.match(delivery!.responseHead, /^HTTP\/1\.1 200 OK\n/);
});

test("neither secrets nor contents get into the program's log, whatever happens to a delivery", async () => {
  const webhook = await world.createWebhook({ url: `${world.receiver.url}/trouble` });
  const said = "the endpoint's own words, said in confidence";
  world.receiver.script = ({ path }) => (path === "/trouble" ? { status: 410, body: said } : 200);
  const id = await accepted(world, {
    to: ["a@there.test"],
    subject: "Between us",
    metadata: { order: "in confidence" },
  });
  await untilTold(world, id, "email.delivered");
  await world.untilEvents("the disabling", (all) => all.some(({ event }) => event.type === "webhook.disabled"));
  const rotated = await world.ask("RotateWebhookSecret", { id: webhook.id });
  assert.equal(await world.program.stop(), 0);
  const log = world.program.output();
  assert.match(log, /a webhook was disabled/);
  for (const secret of [webhook.secret, rotated.signingSecret as string])
    for (const part of [secret, secret.slice("whsec_".length), "whsec_"]) assert.ok(!log.includes(part), "a secret");
  for (const text of [said, "in confidence", "Only for Anna", "Between us", "4711"])
    assert.ok(!log.includes(text), text);
});
