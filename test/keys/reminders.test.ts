/** Before a key expires, its workspace gets an event, webhooks get it too, and the owners get an email: once each, on several nodes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { signUpFirst } from "../harness/people.ts";
import { mailTo } from "../harness/quotas.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({ env: { POSTHORN_SYSTEM_FROM: "Posthorn <no-reply@sender.test>" } });
  await signUpFirst(testbed.program);
});
after(async () => await testbed?.stop());

/** Moves the end of the key and keeps what was reported, as if time had passed. */
async function expireIn(id: string, interval: string): Promise<void> {
  await testbed.database.sql`update keys set expires_at = wall_time() + ${interval}::interval,
    service_expires_at = service_time() + ${interval}::interval where id = ${id.slice(4)}`;
}

type Reminder = { keyId: string; name: string; prefix: string; daysLeft: number; expiresAt: string };

async function untilReminders(count: number): Promise<Reminder[]> {
  const all = await testbed.untilEvents(`${count} reminders`, (events) => remindersOf(events).length >= count);
  return remindersOf(all);
}
const remindersOf = (events: { event: { type: string } & Record<string, unknown> }[]) =>
  events.filter(({ event }) => event.type === "key.expiring").map(({ event }) => event.keyExpiring as Reminder);

test("owners are reminded 7 days and 1 day before the end, once by two nodes and across a crash", async () => {
  const webhook = await testbed.createWebhook({ eventTypes: ["key.expiring"] });
  const created = await testbed.call("KeyService/CreateKey", {
    name: "shop backend",
    permission: "KEY_PERMISSION_SEND",
    expiresAt: new Date(Date.now() + 30 * 86_400_000).toISOString(),
  });
  const { id, prefix } = created.body.key as { id: string; prefix: string };
  const second = await testbed.startNode();
  await expireIn(id, "6 days 23 hours");
  const [first] = await untilReminders(1);
  assert.deepEqual([first!.keyId, first!.name, first!.prefix, first!.daysLeft], [id, "shop backend", prefix, 7]);
  const mail = await mailTo(testbed, "owner@there.test", /: the API key shop backend expires in 7 days$/);
  assert.match(mail.text ?? "", new RegExp(`posthorn keys rotate ${id}`));

  await second.kill();
  await expireIn(id, "23 hours");
  const third = await testbed.startNode();
  const reminders = await untilReminders(2);
  assert.deepEqual(
    reminders.map(({ daysLeft }) => daysLeft),
    [7, 1],
  );
  await mailTo(testbed, "owner@there.test", /expires in a day$/);
  const deliveries = await testbed.untilDeliveries("both webhook requests", webhook.id, (all) => all.length >= 2);
  assert.deepEqual(
    deliveries.map(({ eventType }) => eventType),
    ["key.expiring", "key.expiring"],
  );
  // A later reminder shows that the rounds in between have reported nothing twice.
  const marker = await testbed.call("KeyService/CreateKey", {
    name: "marker",
    permission: "KEY_PERMISSION_READ",
    expiresAt: new Date(Date.now() + 30 * 86_400_000).toISOString(),
  });
  await expireIn((marker.body.key as { id: string }).id, "2 days");
  assert.deepEqual(
    (await untilReminders(3)).map(({ name, daysLeft }) => `${name} ${daysLeft}`),
    ["shop backend 7", "shop backend 1", "marker 7"],
  );
  await mailTo(testbed, "owner@there.test", /key marker expires/);
  const subjects = testbed.sink.received("owner@there.test").filter(({ data }) => /API key shop/.test(String(data)));
  assert.equal(subjects.length, 2);
  await third.stop();
});
