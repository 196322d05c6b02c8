/** A backlog must cost nobody anything: what a lease and a settlement read is counted, and does not grow with what waits. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import { countRowsRead } from "../../test/harness/rows-read.ts";
import { addManyEvents, addWebhook } from "../../test/harness/webhooks.ts";
import type { Sql } from "./db.ts";
import { makeUuid } from "./ids.ts";
import { makeLease } from "./lease.ts";
import { followLog } from "./webhook-follow.ts";
import { findWebhookLanes, leaseDeliveries } from "./webhook-lease.ts";
import { settleDeliveries } from "./webhook-settle.ts";
import { registerWorker } from "./workers.ts";

const backlog = 3000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

/** Rows of the queue that the work read, by whatever way. */
const rowsRead = <T>(work: (sql: Sql) => Promise<T>) => countRowsRead(database.sql, "^webhook_deliveries_p", work);

test("with thousands waiting for each webhook, a lease and its settlement read about as many rows as they take", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const webhooks = [await addWebhook(sql, workspaceId), await addWebhook(sql, workspaceId)];
  const workerId = await registerWorker(sql, { host: "h", pid: 1, roles: ["webhooks"], version: "t" });
  await addManyEvents(sql, workspaceId, backlog, "email.delivered");
  // The statistics are those of an empty table, as after a start or a new week: the planner must not be lured by them.
  while ((await followLog(sql, { nowMs: Date.now(), webhooks: 50, events: 500 })).behind);

  for (let round = 1; round <= 3; round++) {
    const lanes = webhooks.map(({ id }) => ({ workspaceId, webhookId: id, quota: 5 }));
    const leased = await rowsRead((tx) => leaseDeliveries(tx, makeLease(workerId, round), lanes));
    assert.equal(leased.result.length, 10);
    assert.ok(leased.rows < 500, `a lease of 10 read ${leased.rows} rows`);
    const items = leased.result.map((row) => ({
      ...{ workspaceId, webhookId: row.webhookId, id: row.id, lease: row.lease, status: "delivered" as const },
      ...{ dueInMs: undefined, attempts: 1, responseStatus: 200, responseHead: "", durationMs: 1, error: "" },
      ...{ endpoint: "worked" as const, eventId: makeUuid(Date.now()) },
    }));
    const settled = await rowsRead((tx) => settleDeliveries(tx, items, 1000));
    assert.ok(settled.result.every(({ held }) => held));
    assert.ok(settled.rows < 500, `a settlement of 10 read ${settled.rows} rows`);
    const found = await rowsRead((tx) => findWebhookLanes(tx, 100));
    assert.equal(found.result.length, 2);
    assert.ok(found.rows < 500, `finding the webhooks read ${found.rows} rows`);
  }
});
