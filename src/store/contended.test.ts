/** What nodes do to the same rows at the same moment. PostgreSQL then looks at a row again, and PostgreSQL 18 may look in the wrong
 * place: docs/decisions/0015. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../test/harness/mail.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { openDb } from "./db.ts";
import { storeBatch } from "./email-batches.ts";
import { makeUuid } from "./ids.ts";
import { type Leased, leaseDue, makeLease, releaseLease } from "./lease.ts";
import { purgeSome } from "./queue-destinations.ts";
import { type Settlement, settle } from "./settle.ts";
import { registerWorker } from "./workers.ts";

const weekMs = 7 * 86_400_000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const aWorker = () => registerWorker(database.sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });

async function storeAll(workspaceId: string, emails: ReturnType<typeof newEmail>[]): Promise<void> {
  await storeBatch(database.sql, { workspaceId, emails, answer: [], idempotency: undefined });
}

/** Four emails of two weeks, so that they lie in two partitions; the middle ones are those that a wrong look would lose. */
async function storeFour(workspaceId: string): Promise<string[]> {
  const ids = [0, 0, weekMs, weekMs].map((later) => makeUuid(Date.now() + later));
  await storeAll(
    workspaceId,
    ids.map((id) => newEmail(workspaceId, ["to@there.test"], { id })),
  );
  return ids;
}

/** Runs `work` while another transaction has changed this email and commits only when `work` waits for it. */
async function whileChanged<T>(emailId: string, work: () => Promise<T>): Promise<T> {
  let running: Promise<T> | undefined;
  await database.sql.begin(async (tx) => {
    await tx`update emails set updated_at = now() where id = ${emailId}`;
    running = work();
    running.catch(() => {});
    await until("the other one to wait", async () => {
      const waiting = await database.sql`select 1 from pg_locks l join pg_stat_activity a using (pid)
        where not l.granted and a.datname = current_database()`;
      return waiting.length > 0;
    });
  });
  return await running!;
}

test("four workers take and give back the same rows: each row is in one hand at a time, and nobody's session breaks", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await storeAll(
    workspaceId,
    Array.from({ length: 40 }, () => newEmail(workspaceId, ["a@d.test", "b@d.test", "c@e.test"])),
  );
  const held = new Set<string>();
  const work = Array.from({ length: 4 }, async () => {
    const workerId = await aWorker();
    for (let turn = 1; turn <= 60; turn++) {
      const lanes = ["d.test", "e.test"].map((destination) => ({ destination, workspaceId, quota: 7 }));
      const rows = await leaseDue(sql, makeLease(workerId, turn), lanes);
      for (const { emailId, position } of rows) {
        assert.ok(!held.has(`${emailId} ${position}`), "leased twice");
        held.add(`${emailId} ${position}`);
      }
      for (const { emailId, position } of rows) held.delete(`${emailId} ${position}`);
      await releaseLease(sql, rows);
    }
  });
  await Promise.all(work);
  const [row] = await sql<{ n: number }[]>`select count(*)::int as n from recipients where lease is null`;
  assert.equal(row!.n, 120);
});

test("six workers settle the siblings of the same emails, in two weeks: every outcome is told", async () => {
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
    const rows = await leaseDue(sql, makeLease(await aWorker(), 1), [{ destination, workspaceId, quota: 100 }]);
    for (let first = 0; first < rows.length; first += 7)
      await settle(
        sql,
        rows.slice(first, first + 7).map((row) => delivered(row)),
      );
    await sql.end();
  });
  await Promise.all(work);
  await assertTold(workspaceId, "sent", 360);
});

for (const which of [0, 1, 2, 3])
  test(`email ${which + 1} of four in two weeks is changed while all are settled: every outcome is told`, async () => {
    const { sql } = database;
    const workspaceId = await makeWorkspace(sql);
    const ids = await storeFour(workspaceId);
    const rows = await leaseDue(sql, makeLease(await aWorker(), 1), [
      { destination: "there.test", workspaceId, quota: 10 },
    ]);
    assert.equal(rows.length, 4);
    const items = rows.map((row) => delivered(row));
    assert.deepEqual(await whileChanged(ids[which]!, () => settle(sql, items)), [true, true, true, true]);
    await assertTold(workspaceId, "sent");
  });

test("an email is changed while its lane is purged: every outcome is told", async () => {
  for (const which of [0, 1, 2, 3]) {
    const workspaceId = await makeWorkspace(database.sql);
    const ids = await storeFour(workspaceId);
    const purge = {
      ...{ workspaceId, destination: "there.test", upTo: makeUuid(Date.now() + 2 * weekMs), reason: "purged" },
      eventIds: Array.from({ length: 10 }, () => makeUuid(Date.now())),
    };
    assert.equal(await whileChanged(ids[which]!, () => purgeSome(database.sql, purge)), 4);
    await assertTold(workspaceId, "failed");
  }
});

function delivered({ workspaceId, emailId, position, lease }: Leased): Settlement {
  return {
    ...{ workspaceId, emailId, position, lease, status: "delivered" },
    ...{ dueInMs: undefined, attempts: 1, inDoubt: false, reply: "250 ok", remoteMx: "mx.test", suppress: undefined },
    event: { id: makeUuid(Date.now()), type: "email.delivered", payload: {} },
  };
}

async function assertTold(workspaceId: string, status: string, outcomes = 4): Promise<void> {
  const events = await database.sql<{ number: number }[]>`
    select number::int from events where workspace_id = ${workspaceId} order by number`;
  assert.deepEqual(
    events.map(({ number }) => number),
    Array.from({ length: outcomes }, (_, n) => n + 1),
  );
  const emails = await database.sql`select distinct status, open from emails where workspace_id = ${workspaceId}`;
  assert.deepEqual([...emails], [{ status, open: 0 }]);
}
