import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../harness/wait.ts";
import { startWebhookWorld, type WebhookWorld } from "../harness/webhook-world.ts";
import { addManyEvents } from "../harness/webhooks.ts";

const backlog = 10_000;
const fresh = 500;

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld({ env: { POSTHORN_WEBHOOK_SCHEDULE_MS: "3600000" } });
});
after(async () => await world.stop());

const untried = async (webhookId: string) => {
  const [row] = await world.database.sql<{ untried: number }[]>`
    select count(*)::int as untried from webhook_deliveries
    where webhook_id = ${webhookId.slice("wh_".length)} and status = 'queued' and attempts = 0`;
  return row!.untried;
};

for (const reaction of ["hang", 500] as const) {
  test(`ten thousand deliveries that wait for an endpoint that answers with ${reaction} hold up no other endpoint`, async (t) => {
    const { receiver, database, workspaceId } = world;
    await database.sql`delete from webhooks`;
    receiver.requests.length = 0;
    receiver.script = ({ path }) => (path === "/dead" ? reaction : 200);
    const dead = await world.createWebhook({ url: `${receiver.url}/dead`, eventTypes: ["email.delivered"] });
    await addManyEvents(database.sql, workspaceId, backlog, "email.delivered");
    await until("the backlog", async () => (await untried(dead.id)) > backlog * 0.9);
    await receiver.until("the dead endpoint to be tried", () => receiver.at("/dead").length > 0);

    const live = await world.createWebhook({ url: `${receiver.url}/live`, eventTypes: ["email.bounced"] });
    await addManyEvents(database.sql, workspaceId, fresh, "email.bounced");
    await receiver.until("the live endpoint's first event", () => receiver.at("/live").length > 0);
    const before = await untried(dead.id);
    await receiver.until("the live endpoint's events", () => receiver.at("/live").length >= fresh);
    const taken = before - (await untried(dead.id));
    t.diagnostic(`${fresh} fresh events came while ${taken} of the backlog were tried`);
    assert.ok(taken < fresh, `${fresh} fresh events had to wait for ${taken} of a backlog that is not theirs`);
    assert.equal(new Set(receiver.at("/live").map(({ event }) => event.id)).size, fresh);
    await world.untilDeliveries("the live ones settled", live.id, (all) => all.every((one) => one.settledAt));
  });
}
