/** Reminders before keys expire: once each, on any number of nodes, and none for ends that were set within that time. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import { createClock } from "../ops/clock.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { remind } from "./reminders.ts";
import { updateKey } from "./store/changes.ts";
import { insertKey, makeKeySecret, revokeKey } from "./store.ts";

let database: TestDatabase;
let sql: Sql;
let workspaceId: string;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
beforeEach(async () => {
  workspaceId = await makeWorkspace(sql);
});
after(async () => await database.drop());

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);

async function add(days: number, name = "shop") {
  const { secret } = makeKeySecret(false);
  const id = makeUuid(Date.now());
  const limits = { expiresAt: inDays(days) };
  await insertKey(sql, { id, workspaceId, name, secret, permission: "send", test: false, limits });
  return id;
}

/** As if the end had come closer: both clocks of the row move, and what was reported stays. */
async function move(id: string, days: number) {
  await sql`update keys set expires_at = wall_time() + ${`${days} days`}::interval,
    service_expires_at = service_time() + ${`${days} days`}::interval where id = ${id}`;
}

let woken = 0;
const round = () => remind({ sql, clock: createClock(), onEvent: () => woken++ });

async function reminders(): Promise<{ days: number; keyId: string }[]> {
  return await sql<{ days: number; keyId: string }[]>`
    select (payload->>'daysLeft')::int as days, payload->>'keyId' as "keyId" from events
    where workspace_id = ${workspaceId} and type = 'key.expiring' order by number`;
}

test("a key is announced 7 days and 1 day before its end, once each by several nodes, with a mail to the owners", async () => {
  const id = await add(30, "shop\nbackend");
  await round();
  assert.deepEqual(await reminders(), []);
  await move(id, 6.9);
  woken = 0;
  await Promise.all([round(), round(), round()]);
  await round();
  assert.deepEqual(await reminders(), [{ days: 7, keyId: `key_${id}` }]);
  assert.equal(woken, 1);
  await move(id, 0.9);
  await Promise.all([round(), round()]);
  assert.deepEqual(
    (await reminders()).map(({ days }) => days),
    [7, 1],
  );
  const mails = await sql<{ subject: string; body: string }[]>`
    select subject, body from owner_mails where workspace_id = ${workspaceId} order by id`;
  assert.deepEqual(
    mails.map(({ subject }) => /the API key shop backend expires in (7 days|a day)$/.exec(subject)?.[1]),
    ["7 days", "a day"],
  );
  assert.match(mails[0]!.body, new RegExp(`posthorn keys rotate key_${id}`));
});

test("a key that reaches its last day unseen gets one reminder", async () => {
  const id = await add(30);
  await move(id, 0.5);
  await round();
  await round();
  assert.deepEqual(await reminders(), [{ days: 1, keyId: `key_${id}` }]);
});

test("service time alone makes a reminder due", async () => {
  const id = await add(30);
  await sql`update keys set service_expires_at = service_time() + interval '5 days' where id = ${id}`;
  await round();
  assert.equal((await reminders()).length, 1);
});

test("a short-lived, revoked or expired key gets no reminder", async () => {
  await add(0.5);
  const revoked = await add(30);
  await move(revoked, 3);
  await revokeKey(sql, { workspaceId, id: revoked, testOnly: false });
  const expired = await add(30);
  await move(expired, -1);
  await round();
  assert.deepEqual(await reminders(), []);
  const week = await add(5);
  await round();
  assert.deepEqual(await reminders(), [], "its end was set 5 days before");
  await move(week, 0.5);
  await round();
  assert.deepEqual(await reminders(), [{ days: 1, keyId: `key_${week}` }]);
});

test("a new end is announced again", async () => {
  const id = await add(30);
  await move(id, 6);
  await round();
  await updateKey(sql, { workspaceId, id }, ({ name }) => ({ name, limits: { expiresAt: inDays(90) } }));
  await round();
  assert.equal((await reminders()).length, 1);
  await move(id, 6);
  await round();
  assert.equal((await reminders()).length, 2);
});
