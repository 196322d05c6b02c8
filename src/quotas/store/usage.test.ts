import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { insertKey, makeKeySecret } from "../../keys/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { noDefaults, quotaKinds, unlimited } from "../rules/limits.ts";
import { setQuota } from "./standing.ts";
import { findNearLimits, forgetStreams, readLimits, readUsage, requireRoom, shareStreams } from "./usage.ts";

let database: TestDatabase;
let workspaceId: string;
before(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  workspaceId = await makeWorkspace(database.sql);
});
after(async () => await database.drop());

async function addKey(): Promise<string> {
  const id = makeUuid(Date.now());
  const { secret } = makeKeySecret(false);
  await insertKey(database.sql, { id, workspaceId, name: "k", secret, permission: "full", test: false });
  return id;
}
const used = async () => (await readUsage(database.sql, [workspaceId]))[0]!.used;

/** Adds to the counts of a slot, in the current windows shifted by some hours. */
async function addUsage(
  slot: number,
  hoursAgo: number,
  counts: { recipients: number; inbound: number; bytes: number },
) {
  await database.sql`
    insert into workspace_usage (workspace_id, slot, hour, hour_recipients, day, day_recipients, inbound_hour, inbound_messages, stored_bytes)
    select ${workspaceId}::uuid, ${slot}::smallint, date_bin('1 hour', at, 'epoch'), ${counts.recipients}::bigint, date_bin('1 day', at, 'epoch'), ${counts.recipients}::bigint,
      date_bin('1 hour', at, 'epoch'), ${counts.inbound}::bigint, ${counts.bytes}::bigint
    from (select service_time() - ${hoursAgo}::int * interval '1 hour' as at) t`;
}

describe("the usage", () => {
  it("of a workspace without rows is 0 for every kind, and an unknown workspace is missing", async () => {
    const unknown = makeUuid(Date.now());
    const [usage, ...others] = await readUsage(database.sql, [workspaceId, unknown]);
    assert.deepEqual(others, []);
    const kinds = quotaKinds.filter((kind) => kind !== "domains");
    assert.deepEqual(
      kinds.map((kind) => usage!.used[kind]),
      kinds.map(() => 0),
    );
    assert.deepEqual([usage!.quota, usage!.fromSignUp, usage!.suspendedAt, usage!.warning], [{}, false, null, null]);
    assert.deepEqual(await readUsage(database.sql, []), []);
  });

  it("is the sum over slots in the current windows; bytes have no window", async () => {
    await addUsage(0, 0, { recipients: 3, inbound: 2, bytes: 100 });
    await addUsage(5, 0, { recipients: 4, inbound: 0, bytes: 20 });
    await addUsage(6, 30, { recipients: 50, inbound: 50, bytes: 3 });
    const { emailsPerHour, emailsPerDay, inboundPerHour, storedBytes } = await used();
    assert.deepEqual([emailsPerHour, emailsPerDay, inboundPerHour, storedBytes], [7, 7, 2, 123]);
  });

  it("does not count revoked keys and deleted domains", async () => {
    const before = await used();
    await addKey();
    const id = await addKey();
    assert.equal((await used()).keys, before.keys + 2);
    await database.sql`update keys set revoked_at = now() where id = ${id}`;
    assert.equal((await used()).keys, before.keys + 1);
    await database.sql`update domains set deleted_at = now() where workspace_id = ${workspaceId}`;
    assert.equal((await used()).domains, 0);
  });
});

describe("a quota that allows one more", () => {
  const require = (lock = false) =>
    requireRoom(database.sql, { workspaceId, kind: "keys", defaults: noDefaults, lock });

  it("is there below the limit and without a limit, but not in a workspace that is being deleted or gone", async () => {
    await require();
    await setQuota(database.sql, workspaceId, { keys: 1 });
    await require();
    await addKey();
    await assert.rejects(require(), { code: "resource_exhausted", metadata: { quota: "keys", limit: "1" } });
    await setQuota(database.sql, workspaceId, { keys: null });
    await require();
    await database.sql`update workspaces set deleting_at = now() where id = ${workspaceId}`;
    await assert.rejects(require(), { code: "not_found" });
    workspaceId = makeUuid(Date.now());
    await assert.rejects(require(), { code: "not_found" });
  });

  it("of a locked workspace waits for the transaction that adds one", async () => {
    await setQuota(database.sql, workspaceId, { keys: 1 });
    const add = () =>
      database.sql.begin(async (tx) => {
        await requireRoom(tx, { workspaceId, kind: "keys", defaults: noDefaults, lock: true });
        const { secret } = makeKeySecret(false);
        const id = makeUuid(Date.now());
        await insertKey(tx, { id, workspaceId, name: "k", secret, permission: "full", test: false });
      });
    const results = await Promise.allSettled([add(), add(), add()]);
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    assert.equal((await used()).keys, 1);
  });

  it("is decided by the limits in the workspace's row", async () => {
    await setQuota(database.sql, workspaceId, { keys: 3 });
    assert.deepEqual(await readLimits(database.sql, workspaceId), { quota: { keys: 3 }, fromSignUp: false });
    assert.equal(await readLimits(database.sql, makeUuid(Date.now())), undefined);
  });
});

describe("workspaces close to a limit", () => {
  const isNear = async (defaults = noDefaults) => (await findNearLimits(database.sql, defaults)).includes(workspaceId);

  it("use at least 80 % of it in the current window, over all slots", async () => {
    await addUsage(0, 0, { recipients: 3, inbound: 0, bytes: 0 });
    await addUsage(1, 0, { recipients: 4, inbound: 0, bytes: 0 });
    assert.equal(await isNear(), false, "unlimited");
    await setQuota(database.sql, workspaceId, { emailsPerHour: 9 });
    assert.equal(await isNear(), false);
    await setQuota(database.sql, workspaceId, { emailsPerHour: 8 });
    assert.equal(await isNear(), true);
    await database.sql`update workspace_usage set hour = hour - interval '1 hour' where workspace_id = ${workspaceId}`;
    assert.equal(await isNear(), false, "the next hour");
  });

  it("are found by each kind that mail counts towards, with the settings for new workspaces", async () => {
    await addUsage(0, 0, { recipients: 1, inbound: 1, bytes: 1 });
    for (const kind of ["emailsPerHour", "emailsPerDay", "inboundPerHour", "storedBytes"] as const) {
      const defaults = { established: unlimited, fromSignUp: { ...unlimited, [kind]: 1 } };
      await database.sql`update workspaces set from_sign_up = false where id = ${workspaceId}`;
      assert.equal(await isNear(defaults), false, kind);
      await database.sql`update workspaces set from_sign_up = true where id = ${workspaceId}`;
      assert.equal(await isNear(defaults), true, kind);
    }
  });
});

describe("the streams of nodes", () => {
  it("are those of the other nodes, until these forget them or are not seen for 20 seconds", async () => {
    const { sql } = database;
    const [one, two, three] = [1, 2, 3].map(() => makeUuid(Date.now())) as [string, string, string];
    const sharedWith = async (node: string, counts: Record<string, number>) =>
      (await shareStreams(sql, node, counts)).get(workspaceId);
    assert.equal(await sharedWith(one, { [workspaceId]: 2 }), undefined);
    assert.equal(await sharedWith(two, { [workspaceId]: 3 }), 2);
    assert.equal(await sharedWith(three, {}), 5);
    assert.equal((await used()).streams, 5);
    await sql`update stream_counts set seen_at = seen_at - interval '21 seconds' where node = ${one}`;
    assert.equal(await sharedWith(three, {}), 3);
    assert.equal((await used()).streams, 3);
    await forgetStreams(sql, two);
    assert.equal(await sharedWith(three, {}), undefined);
    await sql`update stream_counts set seen_at = seen_at - interval '1 hour' where node = ${one}`;
    await shareStreams(sql, three, {});
    assert.equal((await sql`select 1 from stream_counts where node = ${one}`).length, 0);
  });
});
