/** The backlog of one endpoint does not delay other endpoints. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../harness/wait.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";
import { addManyEvents } from "../harness/webhooks.ts";

const backlog = 10_000;
const newEvents = 500;

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({ env: { POSTHORN_WEBHOOK_SCHEDULE_MS: "3600000" } });
});
after(async () => await testbed.stop());

const countUntried = async (webhookId: string) => {
  const [row] = await testbed.database.sql<{ untried: number }[]>`
    select count(*)::int as untried from webhook_deliveries
    where webhook_id = ${webhookId.slice("wh_".length)} and status = 'queued' and attempts = 0`;
  return row!.untried;
};

for (const reaction of ["hang", 500] as const) {
  test(`a backlog of ten thousand deliveries for an endpoint that responds with ${reaction} does not delay another endpoint`, async (t) => {
    const { receiver, database, workspaceId } = testbed;
    await database.sql`delete from webhooks`;
    receiver.requests.length = 0;
    receiver.script = ({ path }) => (path === "/dead" ? reaction : 200);
    const dead = await testbed.createWebhook({ url: `${receiver.url}/dead`, eventTypes: ["email.delivered"] });
    await addManyEvents(database.sql, workspaceId, backlog, "email.delivered");
    await until("the backlog", async () => (await countUntried(dead.id)) > backlog * 0.9);
    await receiver.until("the dead endpoint to be tried", () => receiver.at("/dead").length > 0);

    const live = await testbed.createWebhook({ url: `${receiver.url}/live`, eventTypes: ["email.bounced"] });
    await addManyEvents(database.sql, workspaceId, newEvents, "email.bounced");
    await receiver.until("the live endpoint's first event", () => receiver.at("/live").length > 0);
    const before = await countUntried(dead.id);
    await receiver.until("the live endpoint's events", () => receiver.at("/live").length >= newEvents);
    const attempted = before - (await countUntried(dead.id));
    t.diagnostic(`${newEvents} new events were posted while ${attempted} of the backlog were attempted`);
    assert.ok(
      attempted < newEvents,
      `${newEvents} new events waited for ${attempted} deliveries of another endpoint's backlog`,
    );
    assert.equal(new Set(receiver.at("/live").map(({ event }) => event.id)).size, newEvents);
    await testbed.untilDeliveries("the live ones settled", live.id, (all) => all.every((one) => one.settledAt));
  });
}
