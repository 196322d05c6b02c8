import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { createEmailStore } from "../../emails/store/emails.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { markDots } from "./doubts.ts";
import { type Leased, leaseDue } from "./lease.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const scheduleMs = [3_600_000, 7_200_000];

async function newWorker(): Promise<number> {
  return await registerWorker(database.sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });
}

async function die(workerId: number): Promise<void> {
  await database.sql`update workers set beat_at = beat_at - interval '1 hour' where id = ${workerId}`;
}

/** Two emails, leased by a new worker. */
async function leaseTwo(): Promise<{ workspaceId: string; workerId: number; rows: Leased[] }> {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const store = createEmailStore(sql);
  for (const name of ["dotted", "early"]) await store.accept(newEmail(workspaceId, [`${name}@one.test`]));
  const workerId = await newWorker();
  const rows = await leaseAgain(workspaceId, workerId);
  assert.equal(rows.length, 2);
  return { workspaceId, workerId, rows };
}

async function leaseAgain(workspaceId: string, workerId: number, pending: number[] = []): Promise<Leased[]> {
  const lanes = [{ destination: "one.test", workspaceId, quota: 10 }];
  return await leaseDue(database.sql, makeLease(workerId, 1), lanes, pending);
}

const dotted = (rows: readonly Leased[]) => rows.filter(({ address }) => address.startsWith("dotted"));

test("after a crash only the recipients of the journal are in doubt, and they wait", async () => {
  const { workspaceId, workerId, rows } = await leaseTwo();
  await die(workerId);
  assert.deepEqual(await leaseAgain(workspaceId, await newWorker(), [workerId]), [], "not before the journal is read");
  assert.deepEqual(await markDots(database.sql, { workers: [workerId], dots: dotted(rows), scheduleMs }), []);
  const again = await leaseAgain(workspaceId, await newWorker());
  assert.deepEqual(
    again.map(({ address, inDoubt }) => [address, inDoubt]),
    [["early@one.test", false]],
  );
  const [row] = await database.sql<{ inDoubt: boolean; doubts: number; waits: boolean }[]>`
    select in_doubt as "inDoubt", doubts, due_at > now() + interval '50 minutes' as waits from recipients
    where workspace_id = ${workspaceId} and address like 'dotted%'`;
  assert.deepEqual(row, { inDoubt: true, doubts: 1, waits: true });
});

test("a worker that counts as alive keeps its leases, and a dot of an older lease changes nothing", async () => {
  const { workspaceId, workerId, rows } = await leaseTwo();
  const journal = { workers: [workerId], dots: dotted(rows), scheduleMs };
  assert.deepEqual(await markDots(database.sql, journal), [workerId]);
  await die(workerId);
  const stale = dotted(rows).map((dot) => ({ ...dot, lease: makeLease(workerId, 99) }));
  assert.deepEqual(await markDots(database.sql, { ...journal, dots: stale }), []);
  const again = await leaseAgain(workspaceId, await newWorker());
  assert.deepEqual(
    again.map(({ inDoubt }) => inDoubt),
    [false, false],
  );
});

test("without a journal, everything that a dead worker held is in doubt", async () => {
  const { workspaceId, workerId } = await leaseTwo();
  await die(workerId);
  const again = await leaseAgain(workspaceId, await newWorker());
  assert.deepEqual(
    again.map(({ inDoubt }) => inDoubt),
    [true, true],
  );
});
