/** Limits and ends of keys in the database: two clocks, changes, rotation, and nodes of earlier versions. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, afterEach, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { passServiceTime, shiftWallTime } from "../../../test/harness/time.ts";
import { until } from "../../../test/harness/wait.ts";
import type { KeyLimits, Permission } from "../../http/caller.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { findKeys, insertKey, makeKeySecret, revokedAmong } from "../store.ts";
import { rotateKey, updateKey } from "./changes.ts";

let database: TestDatabase;
let sql: Sql;
let workspaceId: string;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
  workspaceId = await makeWorkspace(sql);
});
afterEach(async () => {
  await shiftWallTime(sql, "0 days");
  await sql`update service_clock set service_at = now(), wall_at = now()`;
});
after(async () => await database.drop());

async function add(limits: KeyLimits, permission: Permission = "full") {
  const { secret } = makeKeySecret(false);
  const key = await insertKey(sql, {
    id: makeUuid(Date.now()),
    workspaceId,
    name: "k",
    secret,
    permission,
    test: false,
    limits,
  });
  const find = async () => (await findKeys(sql, [secret]))[0];
  const isOver = async (limitsVersion = 0) =>
    (await revokedAmong(sql, [{ id: key.id, workspaceId, limitsVersion }]))[0];
  return { id: key.id, secret, find, isOver };
}

/** How programs without limits look up a key: by its prefix and the plain SHA-256 of the secret. */
async function isKnownToEarlierVersions(secret: string): Promise<boolean> {
  const hash = createHash("sha256").update(secret).digest("hex");
  return (await sql`select 1 from keys where secret_hash = ${hash} and revoked_at is null`).length > 0;
}

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);

test("a key ends by either clock, for calls and streams, and is back when the database's clock is", async () => {
  const key = await add({ expiresAt: inDays(2) });
  const ended = async () => {
    const [found, over] = [await key.find(), await key.isOver()];
    assert.equal(found!.expired, over !== undefined, "calls and streams agree");
    if (over) assert.equal(over.changed, false);
    return found!.expired;
  };
  assert.equal(await ended(), false);
  await shiftWallTime(sql, "3 days");
  assert.equal(await ended(), true);
  await shiftWallTime(sql, "0 days");
  assert.equal(await ended(), false);
  await passServiceTime(sql, "3 days");
  assert.equal(await ended(), true, "also when the database's clock was set back");
});

test("a key without an end and without limits has none", async () => {
  const key = await add({});
  const { limits, expired } = (await key.find())!;
  assert.deepEqual([limits, expired], [undefined, false]);
  assert.ok(await isKnownToEarlierVersions(key.secret));
});

test("nodes of earlier versions do not find keys with limits that they would not enforce", async () => {
  const limited: [KeyLimits, Permission][] = [
    [{ scopes: ["stats"] }, "scoped"],
    [{ domains: ["a.test", "b.test"] }, "send"],
    [{ domains: ["a.test"] }, "full"],
    [{ recipients: ["a@b.test"] }, "send"],
    [{ addresses: ["10.0.0.0/8"] }, "read"],
    [{ expiresAt: inDays(1) }, "send"],
  ];
  for (const [limits, permission] of limited) {
    const key = await add(limits, permission);
    assert.equal(await isKnownToEarlierVersions(key.secret), false, JSON.stringify(limits));
    assert.equal((await key.find())?.permission, permission);
  }
  const one = await add({ domains: ["a.test"] }, "send");
  assert.ok(await isKnownToEarlierVersions(one.secret), "they know the limit to one domain");
  const [row] = await sql<{ domain: string }[]>`select domain from keys where id = ${one.id}`;
  assert.equal(row!.domain, "a.test");
});

test("an update keeps the secret, hides a key that gets limits from earlier versions, and ends its streams", async () => {
  const key = await add({}, "send");
  const change = (limits: KeyLimits) => updateKey(sql, { workspaceId, id: key.id }, () => ({ name: "k2", limits }));
  await change({ recipients: ["a.test"] });
  assert.deepEqual((await key.find())?.limits?.recipients, ["a.test"]);
  assert.equal(await isKnownToEarlierVersions(key.secret), false);
  assert.equal(await key.isOver(), undefined, "recipients do not concern streams");
  await change({ addresses: ["10.0.0.0/8"] });
  assert.equal((await key.find())?.limitsVersion, 1);
  assert.equal((await key.isOver())?.changed, true);
  assert.equal(await key.isOver(1), undefined);
  const back = await change({});
  assert.deepEqual([back?.name, (await key.find())?.limits], ["k2", undefined]);
  assert.ok(await key.find(), "the key works on without limits");
});

test("a refused update changes nothing, and an unknown key is not found", async () => {
  const key = await add({});
  const refused = updateKey(sql, { workspaceId, id: key.id }, () => {
    throw new Error("no");
  });
  await assert.rejects(refused, /no/);
  assert.equal((await key.find())?.limits, undefined);
  const unknown = { workspaceId: await makeWorkspace(sql), id: key.id };
  assert.equal(await updateKey(sql, unknown, (before) => ({ name: before.name, limits: {} })), undefined);
});

async function rotate(id: string, overlapMs: number, expiresAt?: Date) {
  return await sql.begin((tx) => rotateIn(tx, id, overlapMs, expiresAt));
}

async function rotateIn(tx: Sql, id: string, overlapMs: number, expiresAt?: Date) {
  const { secret } = makeKeySecret(false);
  const rotated = await rotateKey(tx, { workspaceId, id }, (old) => {
    if (old.replacedBy) throw new Error("already rotated");
    return { id: makeUuid(Date.now()), secret, overlapMs, expiresAt, maker: undefined };
  });
  return { ...rotated!, secret };
}

test("rotation copies the limits, and the old key ends after the overlap or at its own end", async () => {
  const limits: KeyLimits = { domains: ["a.test", "b.test"], recipients: ["c.test"], addresses: ["10.0.0.0/8"] };
  const old = await add(limits, "send");
  const { key, previous, secret } = await rotate(old.id, 3_600_000);
  const [found] = await findKeys(sql, [secret]);
  assert.deepEqual(found?.limits, { ...limits, scopes: undefined, expiresAt: undefined });
  assert.deepEqual([key.rotatedFrom, key.permission], [old.id, "send"]);
  const leftMs = previous.expiresAt!.getTime() - Date.now();
  assert.ok(leftMs > 3_500_000 && leftMs <= 3_600_000, String(leftMs));
  assert.equal((await old.find())?.expired, false);
  await passServiceTime(sql, "2 hours");
  assert.equal((await old.find())?.expired, true);
  await sql`update service_clock set service_at = now(), wall_at = now()`;

  const soon = await add({ expiresAt: inDays(1) });
  const end = (await rotate(soon.id, 20 * 86_400_000)).previous.expiresAt!;
  assert.ok(Math.abs(end.getTime() - inDays(1).getTime()) < 60_000, "an overlap does not extend a key");
});

test("without an overlap the old key is revoked, also for earlier versions", async () => {
  const old = await add({});
  const { previous } = await rotate(old.id, 0);
  assert.ok(previous.revokedAt);
  assert.equal(await old.find(), undefined);
});

test("of two rotations at the same time, one wins", async () => {
  const old = await add({});
  const { promise: stored, resolve: store } = Promise.withResolvers<void>();
  const first = sql.begin(async (tx) => {
    await rotateIn(tx, old.id, 1000);
    await stored;
  });
  const waiting = async () =>
    (await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).length >
    0;
  await until("the first one to hold the key", async () => {
    const [row] = await sql`select 1 from keys where id = ${old.id} for update skip locked`;
    return row === undefined;
  });
  const second = rotate(old.id, 1000);
  const refused = assert.rejects(second, /already rotated/);
  await until("the second one to wait", waiting);
  store();
  await Promise.all([first, refused]);
  const rows = await sql`select 1 from keys where rotated_from = ${old.id}`;
  assert.equal(rows.length, 1);
});
