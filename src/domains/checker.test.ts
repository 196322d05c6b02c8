import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { type ScriptedDns, startScriptedDns } from "../../test/harness/dns.ts";
import { newDomain } from "../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../test/harness/mail.ts";
import { passServiceTime } from "../../test/harness/time.ts";
import { until } from "../../test/harness/wait.ts";
import { createAuthoritative } from "../dns/authoritative.ts";
import { createResolver } from "../dns/resolver.ts";
import { readEventPage } from "../events/store.ts";
import { silentLog } from "../ops/log.ts";
import { createDomainCheck, type DomainCheck } from "./check.ts";
import { type CheckerDeps, createChecker } from "./checker.ts";
import { expectedRecords, type RecordKey } from "./rules/records.ts";
import { addDomain, type DomainRow, deleteDomain, getDomain, receivingDomain } from "./store/domains.ts";

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

/** Each call creates a checker that acts as a separate node. */
function node(extra: Partial<CheckerDeps> = {}) {
  return createChecker({
    sql: database.sql,
    log: silentLog(),
    zone,
    verifyIntervalMs: 30_000,
    nowMs: Date.now,
    check: check(),
    findZone: async () => undefined,
    ...extra,
  });
}

/** The domain of every check that was started. Queries do not tell: one without an answer in time is repeated. */
const checked: string[] = [];
const checksOf = ({ domain }: DomainRow) => checked.filter((one) => one === domain).length;

function check(): DomainCheck {
  const resolver = createResolver({ servers: [dns], queryTimeoutMs: 2500 });
  const real = createDomainCheck({
    resolver,
    authoritative: createAuthoritative({ resolver, allowAddress: () => false }),
  });
  return (records, signal) => {
    checked.push(records[0]?.domain ?? assert.fail());
    return real(records, signal);
  };
}

async function add(domain: string, extra: Parameters<typeof newDomain>[2] = {}): Promise<DomainRow> {
  const row = await addDomain(database.sql, newDomain(await makeBareWorkspace(database.sql), domain, extra));
  return row ?? assert.fail();
}

function publish(row: DomainRow, ...keys: RecordKey[]): void {
  for (const { key, name, type, value, priority } of expectedRecords({ ...row, zone }))
    if (keys.length === 0 || keys.includes(key))
      dns.set(name, type, priority === undefined ? value : `${priority} ${value}`);
}

const makeOld = (row: DomainRow) =>
  database.sql`update domains set created_at = now() - interval '10 minutes', last_checked_at = now() - interval '6 minutes' where id = ${row.id}`;
const makeDue = (row: DomainRow) =>
  database.sql`update domains set next_check_at = service_time() where id = ${row.id}`;

test("a recent status is returned as stored; a stale one is checked once for all callers on all nodes", async () => {
  const row = await add("shared.test");
  publish(row);
  const nodes = [node(), node(), node()];
  assert.equal((await nodes[0]!.get(row.workspaceId, row.id))?.status, "pending");
  assert.equal(checksOf(row), 0);
  await makeOld(row);
  const shown = await Promise.all(Array.from({ length: 60 }, (_, i) => nodes[i % 3]!.get(row.workspaceId, row.id)));
  assert.deepEqual(new Set(shown.map((one) => one?.status)), new Set(["ready"]));
  assert.equal(checksOf(row), 1);
});

test("verify checks once per interval and returns when the next check is allowed", async () => {
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
  assert.equal(checksOf(row), 1);
  await database.sql`update domains set last_verify_at = last_verify_at - interval '31 seconds' where id = ${row.id}`;
  assert.equal((await checker.verify(row.workspaceId, row.id))?.row.status, "verifying");
  // The interval does not apply to background checks, refreshes and the operator.
  publish(row);
  assert.equal((await checker.refresh(row.workspaceId, row.id))?.status, "ready");
});

test("verify takes over from a running check, and callers of that check get the new result", async () => {
  const row = await add("overtaken.test");
  await makeOld(row);
  const release = Promise.withResolvers<void>();
  const queried = Promise.withResolvers<void>();
  const real = check();
  const slow: DomainCheck = async (records, signal) => {
    const findings = await real(records, signal);
    queried.resolve();
    await release.promise;
    return findings;
  };
  const waiting = node({ check: slow }).get(row.workspaceId, row.id);
  await queried.promise;
  publish(row);
  const verified = await node().verify(row.workspaceId, row.id);
  assert.equal(verified?.row.status, "ready");
  release.resolve();
  assert.equal((await waiting)?.status, "ready");
  const events = (await readEventPage(database.sql, { workspaceId: row.workspaceId, after: 0n, limit: 10 })).events;
  assert.equal(events.length, 1);
});

test("each due domain is checked by one node and reports one event", async () => {
  await database.sql`update domains set next_check_at = service_time() + interval '1 day'`;
  const rows = await Promise.all(Array.from({ length: 20 }, (_, i) => add(`due${i}.test`, { firstCheckMs: 0 })));
  for (const row of rows) publish(row);
  let events = 0;
  const nodes = Array.from({ length: 3 }, () => node({ onEvent: () => events++ }));
  const taken = await Promise.all(nodes.map((one) => one.checkDue(16)));
  assert.equal(
    taken.reduce((a, b) => a + b),
    20,
  );
  for (const row of rows) {
    assert.equal((await getDomain(database.sql, row.workspaceId, row.id))?.status, "ready");
    assert.equal(checksOf(row), 1, row.domain);
  }
  assert.equal(events, 20);
  assert.equal(await nodes[0]!.checkDue(16), 0, "no domain is due twice");
});

test("a workspace with many due domains leaves background checks to others, and gets the rest", async () => {
  await database.sql`update domains set next_check_at = service_time() + interval '1 day'`;
  const workspaceId = await makeBareWorkspace(database.sql);
  for (let i = 0; i < 30; i++)
    await addDomain(database.sql, newDomain(workspaceId, `many${i}.test`, { firstCheckMs: 0 }));
  const others = [await add("few1.test", { firstCheckMs: 0 }), await add("few2.test", { firstCheckMs: 0 })];
  const checker = node();
  assert.equal(await checker.checkDue(16), 16);
  for (const row of others) assert.equal(checksOf(row), 1, row.domain);
  assert.equal(await checker.checkDue(16), 16);
  assert.equal(await checker.checkDue(16), 0);
});

test("an error in one check does not affect others, and that domain is not retried at once", async () => {
  await database.sql`update domains set next_check_at = service_time() + interval '1 day'`;
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

test("stopping aborts the running checks and leaves their domains due", async () => {
  await database.sql`update domains set next_check_at = service_time() + interval '1 day'`;
  const row = await add("stopped.test", { firstCheckMs: 0 });
  dns.behave("_dmarc.stopped.test", "timeout");
  const checker = node();
  const checking = checker.checkDue(16);
  await until("the first DNS query", () => dns.queries.some(({ name }) => name === `_dmarc.${row.domain}`));
  await checker.stop();
  // A check of an earlier test may have made another domain due.
  assert.ok((await checking) >= 1);
  const after = await getDomain(database.sql, row.workspaceId, row.id);
  assert.deepEqual([after?.lastCheckedAt, after?.checking], [null, false]);
  dns.behave("_dmarc.stopped.test", undefined);
  await node().checkDue(16);
  assert.ok((await getDomain(database.sql, row.workspaceId, row.id))?.lastCheckedAt, "it was still due");
});

test("a domain that is deleted during its check is not found afterwards", async () => {
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

test("when the records move to another registration, the previous one is checked without delay", async () => {
  const [a, b] = [await add("moving.test"), await add("moving.test")];
  const checker = node();
  publish(a);
  await checker.verify(a.workspaceId, a.id);
  assert.equal((await receivingDomain(database.sql, "moving.test"))?.id, a.id);
  publish(b);
  await passServiceTime(database.sql, "1 second");
  await checker.verify(b.workspaceId, b.id);
  assert.equal((await receivingDomain(database.sql, "moving.test"))?.id, b.id, "at once");
  await checker.checkDue(16);
  const previous = await getDomain(database.sql, a.workspaceId, a.id);
  assert.deepEqual([previous?.status, previous?.canSend, previous?.canReceive], ["degraded", false, false]);
});

test("two registrations that each have one DKIM record do not trigger each other's checks forever", async () => {
  await database.sql`update domains set next_check_at = service_time() + interval '1 day'`;
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

test("the slow checks of one workspace are limited: further ones are refused, a stale state is returned, and others are checked", async () => {
  const go = Promise.withResolvers<void>();
  const real = check();
  const slow: DomainCheck = async (records, signal) => {
    if (/^dead/.test(records[0]!.domain)) await go.promise;
    return await real(records, signal);
  };
  const one = node({ check: slow, checksPerWorkspace: 1 });
  const workspaceId = await makeBareWorkspace(database.sql);
  const names = ["dead1.test", "dead2.test", "dead3.test"];
  const dead = await Promise.all(
    names.map(async (name) => (await addDomain(database.sql, newDomain(workspaceId, name))) ?? assert.fail()),
  );
  const accepted = [one.verify(workspaceId, dead[0]!.id), one.verify(workspaceId, dead[1]!.id)];
  await assert.rejects(one.verify(workspaceId, dead[2]!.id), { code: "resource_exhausted", retryAfterMs: 5_000 });
  await makeOld(dead[2]!);
  assert.equal((await one.get(workspaceId, dead[2]!.id))?.status, "pending");
  const other = await add("other-checked.test");
  publish(other);
  assert.equal((await one.verify(other.workspaceId, other.id))?.wasRefreshed, true);
  go.resolve();
  for (const result of await Promise.all(accepted)) assert.equal(result?.wasRefreshed, true);
});

test("a new domain's zone is stored without a check; a view checks only if the last check is older than 30 seconds", async () => {
  const row = await add("looked.contoso.test");
  const checker = node({ findZone: async () => ({ zone: "contoso.test", hosts: ["ns.contoso.test"] }) });
  checker.locate(row);
  const read = async () => (await getDomain(database.sql, row.workspaceId, row.id)) ?? assert.fail();
  await until("the zone", async () => (await read()).dnsZone === "contoso.test");
  assert.deepEqual((await read()).nameServers, ["ns.contoso.test"]);
  checker.look(await read());
  assert.equal(checksOf(row), 0, "the registration is recent");
  await database.sql`update domains set registered_at = service_time() - interval '31 seconds' where id = ${row.id}`;
  const old = await read();
  for (let n = 0; n < 5; n++) checker.look(old);
  await until("the check", async () => (await read()).lastCheckedAt !== null);
  checker.look(await read());
  assert.equal(checksOf(row), 1);
  assert.equal((await read()).dnsZone, "contoso.test", "a check that finds no zone keeps the last one");
});
