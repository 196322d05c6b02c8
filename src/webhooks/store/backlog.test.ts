/** A backlog must not slow down the queue: counts the rows that each statement reads, which must not grow with the backlog. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { countRowsRead } from "../../../test/harness/rows-read.ts";
import { addManyEvents, addWebhook, follow } from "../../../test/harness/webhooks.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { followLog } from "./follow.ts";
import { findWaitingWebhooks, leaseDeliveries } from "./lease.ts";
import { settleDeliveries } from "./settle.ts";

const backlog = 3000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

/** The rows of the queue's table that the work read, by index or by scan. */
const rowsRead = <T>(work: (sql: Sql) => Promise<T>) => countRowsRead(database.sql, "^webhook_deliveries_p", work);

test("with a backlog of thousands per webhook, a lease and its settlement read about as many rows as they change", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const webhooks = [await addWebhook(sql, workspaceId), await addWebhook(sql, workspaceId)];
  const workerId = await registerWorker(sql, { host: "h", pid: 1, roles: ["webhooks"], version: "t" });
  await addManyEvents(sql, workspaceId, backlog, "email.delivered");
  // The statistics are those of an empty table, as after the first start or in a new weekly partition. They must not mislead the planner.
  while ((await follow(sql)).webhooks.length > 0);

  await addManyEvents(sql, workspaceId, 200, "email.delivered");
  for (let round = 1; round <= 8; round++) {
    const rooms = { known: [], events: 5, room: 5 };
    const lease = makeLease(workerId, 100 + round);
    const followed = await rowsRead((tx) => followLog(tx, { nowMs: Date.now(), lease, rooms }));
    assert.equal(followed.result.leased.length, 10);
    assert.ok(followed.rows < 500, `adding 10 deliveries read ${followed.rows} rows`);
  }

  for (let round = 1; round <= 3; round++) {
    const quotas = webhooks.map(({ id }) => ({ workspaceId, webhookId: id, quota: 5 }));
    const leased = await rowsRead((tx) => leaseDeliveries(tx, makeLease(workerId, round), quotas));
    assert.equal(leased.result.length, 10);
    assert.ok(leased.rows < 500, `a lease of 10 read ${leased.rows} rows`);
    const items = leased.result.map((row) => ({
      workspaceId,
      webhookId: row.webhookId,
      id: row.id,
      lease: row.lease,
      status: "delivered" as const,
      dueInMs: undefined,
      attempts: 1,
      responseStatus: 200,
      responseHead: "",
      durationMs: 1,
      exchange: { url: "https://hooks.test/", requestHeaders: "", responseHeaders: "", responseBody: "" },

      error: "",
      endpoint: "worked" as const,
      eventId: makeUuid(Date.now()),
    }));
    const settled = await rowsRead((tx) => settleDeliveries(tx, items, { disableAfterMs: 1000 }));
    assert.ok(settled.result.results.every((result) => result.settled));
    assert.ok(settled.rows < 500, `a settlement of 10 read ${settled.rows} rows`);
    const found = await rowsRead((tx) => findWaitingWebhooks(tx, 100));
    assert.equal(found.result.length, 2);
    assert.ok(found.rows < 500, `finding the webhooks read ${found.rows} rows`);
  }
});
