import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookWorld, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld({ env: { POSTHORN_DRAIN_MS: "8000" } });
});
after(async () => await world.stop());

test("SIGTERM waits for requests under way and gives back those that do not end in time", async () => {
  const { receiver, database } = world;
  const answer = Promise.withResolvers<void>();
  receiver.script = async ({ path, seen }) => {
    if (path === "/stuck" && seen === 1) return "hang";
    if (path === "/slow") await answer.promise;
    return 200;
  };
  const slow = await world.createWebhook({ url: `${receiver.url}/slow` });
  const stuck = await world.createWebhook({ url: `${receiver.url}/stuck` });
  await accepted(world, {});
  await receiver.until("both requests", ({ requests }) => requests.length === 2);
  const stopped = world.program.stop();
  // The listener closes first: when it refuses, the program is stopping.
  await assert.rejects(async () => {
    for (;;) await world.program.call("WebhookService/ListWebhooks");
  });
  answer.resolve();
  assert.equal(await stopped, 0);

  const rows = await database.sql<{ id: string; status: string; attempts: number; lease: string | null }[]>`
    select 'wh_' || webhook_id as id, status, attempts, lease from webhook_deliveries`;
  const of = (id: string) => rows.find((row) => row.id === id)!;
  assert.deepEqual([of(slow.id).status, of(slow.id).attempts], ["delivered", 1]);
  assert.deepEqual([of(stuck.id).status, of(stuck.id).lease], ["queued", null]);

  await world.startNode();
  await receiver.until("the one given back, again", () => receiver.at("/stuck").length === 2);
  assert.equal(receiver.at("/slow").length, 1);
});
