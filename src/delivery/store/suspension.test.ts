/** The default expiry of mail is extended by the service time in which it was due and its workspace was suspended, whatever the database's
 * clock showed. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { beatAfter, passServiceTime, shiftWallTime } from "../../../test/harness/time.ts";
import { createEmailStore, type NewEmail } from "../../emails/store/emails.ts";
import { systemKeyId } from "../../keys/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { readClocks } from "../../postgres/service-clock.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { resumptionNotice, suspensionNotice } from "../../quotas/notice-text.ts";
import { resume, suspend } from "../../quotas/store/standing.ts";
import { findLanes, leaseDue, leaseExpired } from "./lease.ts";

const hourMs = 3_600_000;

let database: TestDatabase;
let workspaceId: string;
let workerId: number;
beforeEach(async () => {
  database = await createTestDatabase();
  workspaceId = await makeWorkspace(database.sql);
  workerId = await registerWorker(database.sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });
});
afterEach(async () => await database.drop());

const beatOnce = () => beatAfter(database.sql, [workerId], 5000);

async function jump(days: number): Promise<void> {
  await shiftWallTime(database.sql, `${days} days`);
  await beatOnce();
  await ensurePartitions(database.sql);
  await beatOnce();
}

async function passHours(hours: number): Promise<void> {
  await passServiceTime(database.sql, `${hours} hours`);
  await beatOnce();
}

async function accept(extra: Partial<NewEmail> = {}): Promise<NewEmail> {
  const { wallMs } = await readClocks(database.sql);
  const email = newEmail(workspaceId, ["a@there.test"], { id: makeUuid(wallMs), ...extra });
  assert.deepEqual(await createEmailStore(database.sql).accept(email), { stored: true });
  return email;
}

/** Suspends the workspace, for one hour of service time unless told otherwise. */
async function suspended(during: () => Promise<void> = () => passHours(1)): Promise<void> {
  const named = { workspaceId, name: "test" };
  const notice = suspensionNotice(named, "Unpaid.", undefined, (await readClocks(database.sql)).wallMs);
  assert.equal(await suspend(database.sql, { notice, reason: "Unpaid.", automatic: false }), true);
  await during();
  assert.equal(
    await resume(database.sql, resumptionNotice(named, undefined, (await readClocks(database.sql)).wallMs)),
    true,
  );
}

/** The hours by which the expiry of each leased email is extended. */
async function extensions(): Promise<Map<string, number>> {
  const lanes = await findLanes(database.sql, 1000);
  const due = lanes.map((lane) => ({ ...lane, quota: 100 }));
  const leased = await leaseDue(database.sql, makeLease(workerId, 1), due);
  const stored = await database.sql<{ id: string; at: Date }[]>`select id, default_expires_at as at from emails`;
  const storedAt = new Map(stored.map(({ id, at }) => [id, at.getTime()]));
  const hours = (ms: number) => Math.round((ms / hourMs) * 10) / 10;
  return new Map(
    leased.map(({ emailId, email }) => [emailId, hours(email.defaultExpiresAt!.getTime() - storedAt.get(emailId)!)]),
  );
}

test("mail that waits is extended by each suspension, also after the clock went back", async () => {
  const email = await accept();
  await suspended();
  await jump(-3);
  await suspended();
  await jump(30);
  await suspended();
  assert.deepEqual(await extensions(), new Map([[email.id, 3]]));
});

test("a suspension before the mail was accepted does not count, also if the clock was ahead then", async () => {
  await jump(30);
  await suspended();
  await jump(0);
  const email = await accept();
  await passHours(1);
  assert.deepEqual(await extensions(), new Map([[email.id, 0]]));
});

test("a jump during the suspension does not change its length", async () => {
  const email = await accept();
  await suspended(async () => {
    await passHours(1);
    await jump(400);
    await passHours(1);
  });
  assert.deepEqual(await extensions(), new Map([[email.id, 2]]));
});

test("only the part of a suspension in which the mail was due counts", async () => {
  const { wallMs } = await readClocks(database.sql);
  const soon = await accept({ scheduledAt: new Date(wallMs + hourMs) });
  const later = await accept({ scheduledAt: new Date(wallMs + 5 * hourMs) });
  let own: NewEmail | undefined;
  await suspended(async () => {
    await passHours(3);
    own = await accept({ keyId: systemKeyId });
    await passHours(1);
  });
  await passHours(2);
  assert.deepEqual(
    await extensions(),
    new Map([
      [soon.id, 3],
      [own!.id, 1],
      [later.id, 0],
    ]),
  );
});

test("mail of a workspace that no longer exists is neither sent nor expired", async () => {
  const { sql } = database;
  await accept();
  const other = await makeWorkspace(sql, "other");
  const kept = newEmail(other, ["a@there.test"]);
  assert.deepEqual(await createEmailStore(sql).accept(kept), { stored: true });
  // What a transaction leaves behind that began before a deletion and committed after it.
  await sql`delete from domains where workspace_id = ${workspaceId}`;
  await sql`delete from workspaces where id = ${workspaceId}`;
  const lanes = await findLanes(sql, 1000);
  assert.deepEqual(lanes.map((lane) => [lane.workspaceId === other, lane.isSuspended]).sort(), [
    [false, true],
    [true, false],
  ]);
  const leased = await leaseDue(
    sql,
    makeLease(workerId, 1),
    lanes.map((lane) => ({ ...lane, quota: 100 })),
  );
  assert.deepEqual(
    leased.map(({ emailId }) => emailId),
    [kept.id],
  );
  await passHours(100);
  const scan = { destination: "there.test", workspaceId, after: undefined, limit: 10 };
  assert.deepEqual((await leaseExpired(sql, makeLease(workerId, 2), scan)).rows, []);
});
