import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { checkResult, newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { readEventPage } from "../../events/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { claimDue, claimStale, claimVerify, recheckRivals, recordCheck, releaseCheck } from "./checks.ts";
import { addDomain, type DomainRow, deleteDomain, getDomain } from "./domains.ts";
import { readSigning } from "./sending.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

async function add(domain: string, extra: Parameters<typeof newDomain>[2] = {}): Promise<DomainRow> {
  const row = await addDomain(database.sql, newDomain(await makeBareWorkspace(database.sql), domain, extra));
  return row ?? assert.fail();
}

const lease = () => makeUuid(Date.now());
const keyOf = ({ workspaceId, id }: DomainRow) => ({ workspaceId, id });

async function age(row: DomainRow, minutes: number): Promise<void> {
  await database.sql`update domains set registered_at = registered_at - ${minutes} * interval '1 minute',
    checked_at = checked_at - ${minutes} * interval '1 minute' where id = ${row.id}`;
}

test("a stale domain is leased once, and a recently checked one is not leased", async () => {
  const { sql } = database;
  const row = await add("stale.test");
  const claim = () => claimStale(sql, { ...keyOf(row), lease: lease(), staleAfterMs: 300_000 });
  assert.equal(await claim(), undefined, "just registered");
  await age(row, 6);
  const claims = await Promise.all(Array.from({ length: 10 }, claim));
  assert.equal(claims.filter((one) => one !== undefined).length, 1);
  assert.equal((await getDomain(sql, row.workspaceId, row.id))?.checking, true);
});

test("the lease of a node that died can be taken after it expires", async () => {
  const { sql } = database;
  const row = await add("died.test");
  await age(row, 6);
  const claim = () => claimStale(sql, { ...keyOf(row), lease: lease(), staleAfterMs: 300_000 });
  assert.ok(await claim());
  assert.equal(await claim(), undefined);
  await sql`update domains set check_lease_until = service_time() - interval '1 second' where id = ${row.id}`;
  assert.equal((await getDomain(sql, row.workspaceId, row.id))?.checking, false);
  assert.ok(await claim());
});

test("a requested check is allowed once per interval, even with many requests at once", async () => {
  const { sql } = database;
  const row = await add("verify.test");
  const claim = () => claimVerify(sql, { ...keyOf(row), lease: lease(), intervalMs: 30_000 });
  const claims = await Promise.all(Array.from({ length: 10 }, claim));
  assert.equal(claims.filter((one) => one !== undefined).length, 1);
  await sql`update domains set last_verify_at = last_verify_at - interval '31 seconds' where id = ${row.id}`;
  assert.ok(await claim());
});

test("a result is stored only while its check has the lease", async () => {
  const { sql } = database;
  const row = await add("overtaken.test");
  await age(row, 6);
  const [slow, quick] = [lease(), lease()];
  await claimStale(sql, { ...keyOf(row), lease: slow, staleAfterMs: 300_000 });
  assert.ok(await claimVerify(sql, { ...keyOf(row), lease: quick, intervalMs: 30_000 }), "takes over");
  const save = (mine: string, status: "ready" | "pending") =>
    recordCheck(sql, { ...keyOf(row), lease: mine, eventId: lease(), result: checkResult(status, []) });
  assert.equal(await save(slow, "pending"), undefined);
  assert.equal((await save(quick, "ready"))?.status, "ready");
  assert.equal(await save(quick, "pending"), undefined, "a second time");

  const deleted = await add("deleted.test");
  const mine = lease();
  await claimVerify(sql, { ...keyOf(deleted), lease: mine, intervalMs: 0 });
  await deleteDomain(sql, deleted.workspaceId, deleted.id);
  const late = await recordCheck(sql, {
    ...keyOf(deleted),
    lease: mine,
    eventId: lease(),
    result: checkResult("ready", []),
  });
  assert.equal(late, undefined);
});

test("a check stores what sending and receiving need, and writes an event only if previousStatus is set", async () => {
  const { sql } = database;
  const row = await add("events.test");
  const save = async (...result: Parameters<typeof checkResult>) => {
    const mine = lease();
    await claimVerify(sql, { ...keyOf(row), lease: mine, intervalMs: 0 });
    return await recordCheck(sql, { ...keyOf(row), lease: mine, eventId: lease(), result: checkResult(...result) });
  };
  const first = await save("verifying", ["dkim2", "mx"], { previousStatus: "pending" });
  assert.deepEqual([first?.canSend, first?.canReceive, first?.signingSlots], [true, true, [2]]);
  assert.equal(first?.note, "it is verifying");
  assert.equal(first?.checking, false);
  assert.ok(first?.lastCheckedAt);
  assert.equal((await readSigning(sql, row.workspaceId, row.id))?.mailFromLabel, undefined);

  const second = await save("verifying", ["dkim2", "mx"], { changed: false });
  assert.deepEqual(second?.updatedAt, first.updatedAt, "nothing changed");
  assert.ok(second?.lastCheckedAt && second.lastCheckedAt > first.lastCheckedAt);

  await save("ready", ["dkim1", "dkim2", "mx", "mailFromMx", "mailFromSpf"], { previousStatus: "verifying" });
  assert.equal((await readSigning(sql, row.workspaceId, row.id))?.mailFromLabel, "bounce");
  const events = (await readEventPage(sql, { workspaceId: row.workspaceId, after: 0n, limit: 10 })).events;
  assert.deepEqual(
    events.map(({ number, type, payload }) => [number, type, payload.previousStatus, payload.status]),
    [
      ["1", "domain.updated", "DOMAIN_STATUS_PENDING", "DOMAIN_STATUS_VERIFYING"],
      ["2", "domain.updated", "DOMAIN_STATUS_VERIFYING", "DOMAIN_STATUS_READY"],
    ],
  );
});

test("nodes that search for due domains at the same time lease different ones", async () => {
  const { sql } = database;
  await sql`update domains set next_check_at = service_time() + interval '1 day'`;
  const due = await Promise.all(Array.from({ length: 30 }, (_, i) => add(`due${i}.test`, { firstCheckMs: 0 })));
  const later = await add("later.test");
  const taken = await Promise.all(Array.from({ length: 4 }, () => claimDue(sql, { lease: lease(), limit: 10 })));
  const ids = taken.flat().map((row) => row.id);
  assert.equal(new Set(ids).size, ids.length, "no domain is leased twice");
  const rest = await claimDue(sql, { lease: lease(), limit: 100 });
  assert.deepEqual([...ids, ...rest.map((row) => row.id)].sort(), due.map((row) => row.id).sort());
  assert.ok(!ids.includes(later.id));
});

test("a check without a result releases its lease, and the domain is due at once or later", async () => {
  const { sql } = database;
  const row = await add("release.test", { firstCheckMs: 0 });
  const take = async () => {
    const mine = lease();
    const rows = await claimDue(sql, { lease: mine, limit: 100 });
    return rows.some(({ id }) => id === row.id) ? mine : undefined;
  };
  const first = await take();
  assert.ok(first);
  await releaseCheck(sql, { ...keyOf(row), lease: lease(), againInMs: 0 });
  assert.equal(await take(), undefined, "the lease of another check is not released");
  await releaseCheck(sql, { ...keyOf(row), lease: first, againInMs: 0 });
  const second = await take();
  assert.ok(second);
  await releaseCheck(sql, { ...keyOf(row), lease: second, againInMs: 60_000 });
  assert.equal(await take(), undefined);
});

test("recheckRivals makes only registrations due that had a DKIM record of the same name", async () => {
  const { sql } = database;
  const rows = await Promise.all(["holder", "stranger", "winner"].map(() => add("contested.test")));
  const [holder, stranger, winner] = rows as [DomainRow, DomainRow, DomainRow];
  for (const row of [holder, winner]) {
    const mine = lease();
    await claimVerify(sql, { ...keyOf(row), lease: mine, intervalMs: 0 });
    await recordCheck(sql, {
      ...keyOf(row),
      lease: mine,
      eventId: lease(),
      result: checkResult("verifying", ["dkim1"]),
    });
  }
  const due = async () => (await claimDue(sql, { lease: lease(), limit: 100 })).map((row) => row.id);
  await due();
  assert.equal(
    await recheckRivals(sql, { ...winner, seenAfter: new Date(Date.now() - 60_000) }),
    0,
    "checked since then",
  );
  assert.equal(await recheckRivals(sql, { ...winner, seenAfter: new Date(Date.now() + 60_000) }), 1);
  const ids = await due();
  assert.ok(ids.includes(holder.id));
  assert.ok(!ids.includes(stranger.id) && !ids.includes(winner.id));
});
