/** Tests concurrent statements of several nodes on the same rows. PostgreSQL then rechecks a changed row, and PostgreSQL 18 may recheck the
 * wrong partition: docs/decisions/0015. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail, settlement } from "../../../test/harness/mail.ts";
import { until } from "../../../test/harness/wait.ts";
import { storeBatch } from "../../emails/store/batches.ts";
import { silentLog } from "../../ops/log.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { openDb } from "../../postgres/pool.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { purgeSome } from "../../queue/store.ts";
import { leaseDue, releaseLease } from "./lease.ts";
import { createSettler, settle } from "./settle.ts";

const weekMs = 7 * 86_400_000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const addWorker = () => registerWorker(database.sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });

async function storeAll(workspaceId: string, emails: ReturnType<typeof newEmail>[]): Promise<void> {
  await storeBatch(database.sql, { workspaceId, emails, answer: [], idempotency: undefined });
}

/** Four emails from two weeks, so that they are in two partitions. A wrong recheck would lose the middle ones. */
async function storeFour(workspaceId: string): Promise<string[]> {
  const ids = [0, 0, weekMs, weekMs].map((later) => makeUuid(Date.now() + later));
  await storeAll(
    workspaceId,
    ids.map((id) => newEmail(workspaceId, ["to@there.test"], { id })),
  );
  return ids;
}

/** Runs `work` while another transaction has changed this email. That transaction commits once `work` waits for it. */
async function whileChanged<T>(emailId: string, work: () => Promise<T>): Promise<T> {
  let running: Promise<T> | undefined;
  await database.sql.begin(async (tx) => {
    await tx`update emails set updated_at = now() where id = ${emailId}`;
    running = work();
    running.catch(() => {});
    await until("the work to wait for a lock", async () => {
      const waiting = await database.sql`select 1 from pg_locks l join pg_stat_activity a using (pid)
        where not l.granted and a.datname = current_database()`;
      return waiting.length > 0;
    });
  });
  return await running!;
}

test("four workers lease and release the same rows: each row has one lease at a time, and no statement fails", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await storeAll(
    workspaceId,
    Array.from({ length: 40 }, () => newEmail(workspaceId, ["a@d.test", "b@d.test", "c@e.test"])),
  );
  const leased = new Set<string>();
  const work = Array.from({ length: 4 }, async () => {
    const workerId = await addWorker();
    for (let turn = 1; turn <= 60; turn++) {
      const lanes = ["d.test", "e.test"].map((destination) => ({ destination, workspaceId, quota: 7 }));
      const rows = await leaseDue(sql, makeLease(workerId, turn), lanes);
      for (const { emailId, position } of rows) {
        assert.ok(!leased.has(`${emailId} ${position}`), "leased twice");
        leased.add(`${emailId} ${position}`);
      }
      for (const { emailId, position } of rows) leased.delete(`${emailId} ${position}`);
      await releaseLease(sql, rows);
    }
  });
  await Promise.all(work);
  const [row] = await sql<{ n: number }[]>`select count(*)::int as n from recipients where lease is null`;
  assert.equal(row!.n, 120);
});

for (const byWeek of [false, true])
  test(`six workers settle recipients of the same emails in two partitions${byWeek ? ", by week" : ""}: every outcome gets an event`, async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const names = Array.from({ length: 6 }, (_, n) => `d${n}.test`);
    const ids = Array.from({ length: 60 }, (_, n) => makeUuid(Date.now() + (n % 2) * weekMs));
    const to = names.map((name) => `to@${name}`);
    await storeAll(
      workspaceId,
      ids.map((id) => newEmail(workspaceId, to, { id })),
    );
    const work = names.map(async (destination) => {
      const sql = openDb({ url: database.url, pool: 1, log: silentLog() });
      const rows = await leaseDue(sql, makeLease(await addWorker(), 1), [{ destination, workspaceId, quota: 100 }]);
      const settler = createSettler(sql, { onSettled() {} });
      for (let first = 0; first < rows.length; first += 7) {
        const items = rows.slice(first, first + 7).map((row) => settlement(row, "delivered"));
        if (byWeek) assert.ok((await Promise.all(items.map((item) => settler.add(item, 1)))).every(Boolean));
        else await settle(sql, items);
      }
      await sql.end();
    });
    await Promise.all(work);
    await assertEvents(workspaceId, "sent", 360);
  });

for (const which of [0, 1, 2, 3])
  test(`email ${which + 1} of four in two partitions changes while all are settled: every outcome gets an event`, async () => {
    const { sql } = database;
    const workspaceId = await makeWorkspace(sql);
    const ids = await storeFour(workspaceId);
    const rows = await leaseDue(sql, makeLease(await addWorker(), 1), [
      { destination: "there.test", workspaceId, quota: 10 },
    ]);
    assert.equal(rows.length, 4);
    const items = rows.map((row) => settlement(row, "delivered"));
    assert.deepEqual(await whileChanged(ids[which]!, () => settle(sql, items)), [true, true, true, true]);
    await assertEvents(workspaceId, "sent");
  });

test("an email changes while its lane is purged: every outcome gets an event", async () => {
  for (const which of [0, 1, 2, 3]) {
    const workspaceId = await makeWorkspace(database.sql);
    const ids = await storeFour(workspaceId);
    const purge = {
      workspaceId,
      destination: "there.test",
      upTo: makeUuid(Date.now() + 2 * weekMs),
      reason: "purged",
      eventIds: Array.from({ length: 10 }, () => makeUuid(Date.now())),
    };
    assert.equal(await whileChanged(ids[which]!, () => purgeSome(database.sql, purge)), 4);
    await assertEvents(workspaceId, "failed");
  }
});

/** Event numbers have no gap, and every email has the status. */
async function assertEvents(workspaceId: string, status: string, outcomes = 4): Promise<void> {
  const events = await database.sql<{ number: number }[]>`
    select number::int from events where workspace_id = ${workspaceId} order by number`;
  assert.deepEqual(
    events.map(({ number }) => number),
    Array.from({ length: outcomes }, (_, n) => n + 1),
  );
  const emails = await database.sql`select distinct status, open from emails where workspace_id = ${workspaceId}`;
  assert.deepEqual([...emails], [{ status, open: 0 }]);
}
