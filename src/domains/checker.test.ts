import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { type ScriptedDns, startScriptedDns } from "../../test/harness/dns.ts";
import { newDomain } from "../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../test/harness/mail.ts";
import { until } from "../../test/harness/wait.ts";
import { createAuthoritative } from "../dns/authoritative.ts";
import { createDomainCheck, type DomainCheck } from "../dns/domain-check.ts";
import { createResolver } from "../dns/resolver.ts";
import { silentLog } from "../ops/log.ts";
import { askedRecords, type RecordKey } from "../rules/dns-records.ts";
import { addDomain, type DomainRow, deleteDomain, getDomain, receivingDomain } from "../store/domains.ts";
import { readEvents } from "../store/events.ts";
import { type CheckerDeps, createChecker } from "./checker.ts";

const zone = "mail.posthorn.test";
let database: TestDatabase;
let dns: ScriptedDns;
before(async () => {
  database = await createTestDatabase();
  dns = await startScriptedDns();
});
after(async () => {
  await dns.stop();
  await database.drop();
});

/** Another call is another node. */
function node(extra: Partial<CheckerDeps> = {}) {
  return createChecker({
    ...{ sql: database.sql, log: silentLog(), zone, verifyIntervalMs: 30_000 },
    check: check(),
    ...extra,
  });
}

function check(): DomainCheck {
  const resolver = createResolver({ servers: [dns], queryTimeoutMs: 2500 });
  return createDomainCheck({ resolver, authoritative: createAuthoritative({ resolver, allowAddress: () => false }) });
}

async function add(domain: string, extra: Parameters<typeof newDomain>[2] = {}): Promise<DomainRow> {
  const row = await addDomain(database.sql, newDomain(await makeBareWorkspace(database.sql), domain, extra));
  return row ?? assert.fail();
}

function publish(row: DomainRow, ...keys: RecordKey[]): void {
  for (const { key, name, type, value, priority } of askedRecords({ ...row, zone }))
    if (keys.length === 0 || keys.includes(key))
      dns.set(name, type, priority === undefined ? value : `${priority} ${value}`);
}

const makeOld = (row: DomainRow) =>
  database.sql`update domains set created_at = now() - interval '10 minutes', last_checked_at = now() - interval '6 minutes' where id = ${row.id}`;
const makeDue = (row: DomainRow) => database.sql`update domains set next_check_at = now() where id = ${row.id}`;
/** Questions for one name that only this domain's check asks. */
const asks = (row: DomainRow) => dns.queries.filter(({ name }) => name === `_dmarc.${row.domain}`).length;

test("a fresh domain is shown as it is; a stale one is looked up for all who ask, on every node, once", async () => {
  const row = await add("shared.test");
  publish(row);
  const nodes = [node(), node(), node()];
  assert.equal((await nodes[0]!.get(row.workspaceId, row.id))?.status, "pending");
  assert.equal(asks(row), 0);
  await makeOld(row);
  const shown = await Promise.all(Array.from({ length: 60 }, (_, i) => nodes[i % 3]!.get(row.workspaceId, row.id)));
  assert.deepEqual(new Set(shown.map((one) => one?.status)), new Set(["ready"]));
  assert.equal(asks(row), 1);
});

test("verify looks up once per interval and says when it may again", async () => {
  const row = await add("verified.test");
  const checker = node();
  const first = await checker.verify(row.workspaceId, row.id);
  assert.deepEqual([first?.wasRefreshed, first?.nextRetryAt, first?.row.status], [true, undefined, "pending"]);
  publish(row, "dkim1");
  const second = await node().verify(row.workspaceId, row.id);
  assert.equal(second?.wasRefreshed, false);
  assert.equal(second?.row.status, "pending");
  const last = second?.row.lastVerifyAt ?? assert.fail();
  assert.deepEqual(second?.nextRetryAt, new Date(last.getTime() + 30_000));
  assert.equal(asks(row), 1);
  await database.sql`update domains set last_verify_at = last_verify_at - interval '31 seconds' where id = ${row.id}`;
  assert.equal((await checker.verify(row.workspaceId, row.id))?.row.status, "verifying");
  // Background checks, refreshes and the operator do not count.
  publish(row);
  assert.equal((await checker.refresh(row.workspaceId, row.id))?.status, "ready");
});

test("verify takes over from a check that asked before, and whoever waited gets the new answer", async () => {
  const row = await add("overtaken.test");
  await makeOld(row);
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const real = check();
  const slow: DomainCheck = async (records, signal) => {
    const findings = await real(records, signal);
    asked.resolve();
    await held.promise;
    return findings;
  };
  const waiting = node({ check: slow }).get(row.workspaceId, row.id);
  await asked.promise;
  publish(row);
  const verified = await node().verify(row.workspaceId, row.id);
  assert.equal(verified?.row.status, "ready");
  held.resolve();
  assert.equal((await waiting)?.status, "ready");
  const events = await readEvents(database.sql, { workspaceId: row.workspaceId, after: 0n, limit: 10 });
  assert.equal(events.length, 1);
});

test("what is due is checked by one node each, and told about once", async () => {
  await database.sql`update domains set next_check_at = now() + interval '1 day'`;
  const rows = await Promise.all(Array.from({ length: 20 }, (_, i) => add(`due${i}.test`, { firstCheckMs: 0 })));
  for (const row of rows) publish(row);
  let told = 0;
  const nodes = Array.from({ length: 3 }, () => node({ onEvent: () => told++ }));
  const taken = await Promise.all(nodes.map((one) => one.checkDue(16)));
  assert.equal(
    taken.reduce((a, b) => a + b),
    20,
  );
  for (const row of rows) {
    assert.equal((await getDomain(database.sql, row.workspaceId, row.id))?.status, "ready");
    assert.equal(asks(row), 1, row.domain);
  }
  assert.equal(told, 20);
  assert.equal(await nodes[0]!.checkDue(16), 0, "nothing is due twice");
});

test("a fault in one check stops no other, and is not repeated at once", async () => {
  await database.sql`update domains set next_check_at = now() + interval '1 day'`;
  const [good, bad] = [await add("good.test", { firstCheckMs: 0 }), await add("bad.test", { firstCheckMs: 0 })];
  const real = check();
  const breaks: DomainCheck = (records, signal) =>
    records[0]?.domain === "bad.test" ? Promise.reject(new Error("broken")) : real(records, signal);
  const checker = node({ check: breaks });
  assert.equal(await checker.checkDue(16), 2);
  const seen = async (row: DomainRow) => await getDomain(database.sql, row.workspaceId, row.id);
  assert.ok((await seen(good))?.lastCheckedAt);
  assert.deepEqual([(await seen(bad))?.lastCheckedAt, (await seen(bad))?.checking], [null, false]);
  assert.equal(await checker.checkDue(16), 0);
  await assert.rejects(() => checker.refresh(bad.workspaceId, bad.id), /broken/);
});

test("stopping ends the look-ups in hand and leaves them due", async () => {
  await database.sql`update domains set next_check_at = now() + interval '1 day'`;
  const row = await add("stopped.test", { firstCheckMs: 0 });
  dns.behave("_dmarc.stopped.test", "timeout");
  const checker = node();
  const checking = checker.checkDue(16);
  await until("the question", () => asks(row) > 0);
  await checker.stop();
  assert.equal(await checking, 1);
  const after = await getDomain(database.sql, row.workspaceId, row.id);
  assert.deepEqual([after?.lastCheckedAt, after?.checking], [null, false]);
  dns.behave("_dmarc.stopped.test", undefined);
  assert.equal(await node().checkDue(16), 1);
});

test("a domain that is deleted during its check is gone", async () => {
  const row = await add("vanishing.test");
  const real = check();
  const vanish: DomainCheck = async (records, signal) => {
    await deleteDomain(database.sql, row.workspaceId, row.id);
    return await real(records, signal);
  };
  assert.equal(await node({ check: vanish }).verify(row.workspaceId, row.id), undefined);
  assert.equal(await node().verify(row.workspaceId, row.id), undefined);
  assert.equal(await node().get(row.workspaceId, row.id), undefined);
});

test("when the records move to another registration, the loser is looked at without delay", async () => {
  const [a, b] = [await add("moving.test"), await add("moving.test")];
  const checker = node();
  publish(a);
  await checker.verify(a.workspaceId, a.id);
  assert.equal((await receivingDomain(database.sql, "moving.test"))?.id, a.id);
  publish(b);
  await checker.verify(b.workspaceId, b.id);
  assert.equal((await receivingDomain(database.sql, "moving.test"))?.id, b.id, "at once");
  await checker.checkDue(16);
  const loser = await getDomain(database.sql, a.workspaceId, a.id);
  assert.deepEqual([loser?.status, loser?.canSend, loser?.canReceive], ["degraded", false, false]);
});

test("two registrations that share the records do not keep each other busy", async () => {
  await database.sql`update domains set next_check_at = now() + interval '1 day'`;
  const [a, b] = [await add("split.test"), await add("split.test")];
  const checker = node();
  publish(a, "dkim1");
  publish(b, "dkim2", "mx");
  for (const row of [a, b]) await checker.verify(row.workspaceId, row.id);
  for (let round = 0; round < 3; round++) await checker.checkDue(16);
  assert.equal(await checker.checkDue(16), 0);
  assert.equal((await receivingDomain(database.sql, "split.test"))?.id, b.id);
  await makeDue(a);
  assert.equal(await checker.checkDue(16), 1);
  assert.equal((await receivingDomain(database.sql, "split.test"))?.id, b.id);
});
