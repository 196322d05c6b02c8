import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({ env: { POSTHORN_DRAIN_MS: "8000" } });
});
after(async () => await testbed.stop());

test("on SIGTERM the program waits for requests in progress, and releases deliveries that do not finish in time", async () => {
  const { receiver, database } = testbed;
  const response = Promise.withResolvers<void>();
  receiver.script = async ({ path, seen }) => {
    if (path === "/stuck" && seen === 1) return "hang";
    if (path === "/slow") await response.promise;
    return 200;
  };
  const slow = await testbed.createWebhook({ url: `${receiver.url}/slow` });
  const stuck = await testbed.createWebhook({ url: `${receiver.url}/stuck` });
  await accepted(testbed, {});
  await receiver.until("both requests", ({ requests }) => requests.length === 2);
  const stopped = testbed.program.stop();
  // The program closes its listener first, so a refused connection shows that it is shutting down.
  await assert.rejects(async () => {
    for (;;) await testbed.program.call("WebhookService/ListWebhooks");
  });
  response.resolve();
  assert.equal(await stopped, 0);

  const rows = await database.sql<{ id: string; status: string; attempts: number; lease: string | null }[]>`
    select 'wh_' || webhook_id as id, status, attempts, lease from webhook_deliveries`;
  const rowOf = (id: string) => rows.find((row) => row.id === id)!;
  assert.deepEqual([rowOf(slow.id).status, rowOf(slow.id).attempts], ["delivered", 1]);
  assert.deepEqual([rowOf(stuck.id).status, rowOf(stuck.id).lease], ["queued", null]);

  await testbed.startNode();
  await receiver.until("the released delivery to be retried", () => receiver.at("/stuck").length === 2);
  assert.equal(receiver.at("/slow").length, 1);
});
