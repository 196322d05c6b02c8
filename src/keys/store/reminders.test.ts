import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { insertKey, makeKeySecret } from "../store.ts";
import { type ExpiringKey, findExpiring, noteExpiring } from "./reminders.ts";

let database: TestDatabase;
let sql: Sql;
let workspaceId: string;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
beforeEach(async () => {
  await sql`update keys set revoked_at = now() where revoked_at is null`;
  workspaceId = await makeWorkspace(sql, "shop");
});
after(async () => await database.drop());

/** A key whose expiry is this far ahead by the wall clock and by service time; it was not reminded of yet. */
async function addKey(days: number, serviceDays = days): Promise<string> {
  const { secret } = makeKeySecret(false);
  const id = makeUuid(Date.now());
  const limits = { expiresAt: new Date(Date.now() + 40 * 86_400_000) };
  await insertKey(sql, { id, workspaceId, name: "till", secret, permission: "send", test: false, limits });
  await sql`update keys set expires_at = wall_time() + ${`${days} days`}::interval,
    service_expires_at = service_time() + ${`${serviceDays} days`}::interval, reminded_days = null where id = ${id}`;
  return id;
}

const found = async () => (await findExpiring(sql, 10)).map(({ id, days }) => [id, days]);

function note(key: ExpiringKey): Promise<boolean> {
  const mail = { subject: "A key expires", body: "Replace it." };
  return noteExpiring(sql, key, {
    eventId: makeUuid(Date.now()),
    workspaceId: key.workspaceId,
    type: "key.expiring",
    payload: { keyId: key.id },
    mail,
  });
}

test("keys within 7 days and within 1 day are found, by the clock that ends them first", async () => {
  await addKey(8);
  const week = await addKey(6);
  const day = await addKey(0.5);
  const byService = await addKey(20, 0.5);
  await addKey(-1, 3);
  await addKey(3, -1);
  assert.deepEqual(await found(), [
    [day, 1],
    [week, 7],
    [byService, 1],
  ]);
});

test("one of several nodes writes the event and the mail, and the key is not found again", async () => {
  const id = await addKey(6);
  const [key] = await findExpiring(sql, 10);
  assert.deepEqual([key!.id, key!.workspace, key!.name], [id, "shop", "till"]);
  const noted = await Promise.all([note(key!), note(key!), note(key!)]);
  assert.deepEqual(noted.toSorted(), [false, false, true]);
  assert.equal((await sql`select 1 from events where workspace_id = ${workspaceId}`).length, 1);
  assert.equal((await sql`select 1 from owner_mails where workspace_id = ${workspaceId}`).length, 1);
  assert.deepEqual(await found(), []);
});

test("nothing is written for a key that was revoked or got another expiry since it was found", async () => {
  const revoked = await addKey(6);
  const extended = await addKey(6);
  const keys = await findExpiring(sql, 10);
  await sql`update keys set revoked_at = now() where id = ${revoked}`;
  await sql`update keys set expires_at = expires_at + interval '1 hour' where id = ${extended}`;
  assert.deepEqual(await Promise.all(keys.map(note)), [false, false]);
  assert.equal((await sql`select 1 from events where workspace_id = ${workspaceId}`).length, 0);
});
