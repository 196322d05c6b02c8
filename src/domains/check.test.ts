import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { type ScriptedDns, startScriptedDns } from "../../test/harness/dns.ts";
import { patienceMs } from "../../test/harness/wait.ts";
import { createAddressGuard } from "../dns/address-guard.ts";
import { createAuthoritative } from "../dns/authoritative.ts";
import { createResolver, type Resolver } from "../dns/resolver.ts";
import { createDomainCheck } from "./check.ts";
import { type Judgment, judgeRecord, type RecordState } from "./rules/judge.ts";
import { expectedRecords, type RecordKey } from "./rules/records.ts";

const expected = expectedRecords({ domain: "shop.test", token: "tok", zone: "mail.test" });
let recursive: ScriptedDns;
let own: ScriptedDns;
before(async () => {
  recursive = await startScriptedDns();
  own = await startScriptedDns({ host: "127.0.0.2" });
});
after(() => Promise.all([recursive.stop(), own.stop()]));
beforeEach(() => {
  for (const dns of [recursive, own]) {
    for (const { name } of expected) {
      dns.remove(name);
      dns.behave(name, undefined);
    }
    dns.queries.length = 0;
  }
  recursive.set("shop.test", "NS", "ns.shop.test");
  recursive.set("ns.shop.test", "A", "127.0.0.2");
});

function publish(dns: ScriptedDns, ...keys: RecordKey[]): void {
  for (const { key, name, type, value, priority } of expected) {
    if (keys.includes(key)) dns.set(name, type, priority === undefined ? value : `${priority} ${value}`);
  }
}

/** The servers here answer at once or never, so only the check's own deadline is short where a test wants one. */
async function check(previous: Partial<Record<RecordKey, RecordState>> = {}, timeoutMs = patienceMs) {
  const resolver = createResolver({ servers: [recursive], queryTimeoutMs: patienceMs });
  const allowAddress = createAddressGuard({ allowCidrs: ["127.0.0.0/8"] });
  const authoritative = createAuthoritative({ resolver, allowAddress, port: own.port, queryTimeoutMs: patienceMs });
  const { records: findings } = await createDomainCheck({ resolver, authoritative, timeoutMs })(expected);
  return Object.fromEntries(
    expected.map((record) => [
      record.key,
      judgeRecord(record, findings.get(record.key) ?? assert.fail(), previous[record.key]),
    ]),
  ) as Record<RecordKey, Judgment>;
}

const statuses = (judged: Record<RecordKey, Judgment>) => Object.values(judged).map(({ status }) => status);

test("when all records are found, the domain's own servers get no queries", async () => {
  publish(recursive, ...expected.map(({ key }) => key));
  assert.deepEqual(
    statuses(await check()),
    expected.map(() => "found"),
  );
  assert.equal(own.queries.length, 0);
});

test("a record that only the domain's own servers return is missing and marked as waiting", async () => {
  publish(own, "dkim1", "mailFromMx", "dmarc");
  const judged = await check();
  for (const key of ["dkim1", "mailFromMx", "dmarc"] as const) {
    assert.deepEqual([judged[key].status, judged[key].waiting], ["missing", true], key);
  }
  assert.deepEqual([judged.dkim2.status, judged.dkim2.waiting], ["missing", false]);
});

test("a found record stays found while the domain's own servers still return it", async () => {
  const before: RecordState = { status: "found", discoveredValue: "v=DMARC1; p=none", note: "" };
  publish(own, "dmarc");
  assert.equal((await check({ dmarc: before })).dmarc.status, "found");
  own.remove("_dmarc.shop.test");
  assert.equal((await check({ dmarc: before })).dmarc.status, "missing");
});

test("a record entered with the zone twice is missing, and the note names where it was found", async () => {
  const [dkim] = expected;
  assert.ok(dkim);
  recursive.set(`${dkim.name}.shop.test`, "CNAME", dkim.value);
  const judged = await check();
  assert.equal(judged.dkim1.status, "missing");
  assert.match(judged.dkim1.note, /found at ph1\._domainkey\.shop\.test\.shop\.test/);
});

test("when the resolver does not answer, every record keeps its status and the check ends at its deadline", async () => {
  for (const { name } of expected) recursive.behave(name, "timeout");
  const found: RecordState = { status: "found", discoveredValue: "x", note: "" };
  const judged = await check({ dkim1: found }, 400);
  assert.deepEqual([judged.dkim1.status, judged.dkim1.unanswered], ["found", true]);
  assert.deepEqual([judged.dkim2.status, judged.dkim2.unanswered], ["pending", true]);
});

test("a check ends after five seconds even if no server answers", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  // Behaves like the real resolver with a dead server and no timeout of its own: it ends with the check's signal.
  const lookup = async (_name: string, _type: string, { signal }: { signal?: AbortSignal } = {}) => {
    await new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
    return { kind: "timeout" };
  };
  const silent = { lookup: lookup as Resolver["lookup"], stop: () => {} };
  const authoritative = createAuthoritative({ resolver: silent, allowAddress: () => false });
  let ended = false;
  const running = createDomainCheck({ resolver: silent, authoritative })(expected).then(() => (ended = true));
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(4_999);
  for (let i = 0; i < 10; i++) await turn();
  assert.equal(ended, false);
  t.mock.timers.tick(1);
  await running;
});

test("a check does not wait for the domain's own servers beyond its deadline", async () => {
  for (const { name } of expected) own.behave(name, "timeout");
  const judged = await check({}, 3_000);
  assert.deepEqual(
    statuses(judged),
    expected.map(() => "missing"),
  );
  assert.ok(Object.values(judged).every(({ waiting }) => !waiting));
});

test("aborting the signal ends the check", async () => {
  const resolver = createResolver({ servers: [recursive] });
  const authoritative = createAuthoritative({ resolver, allowAddress: () => false });
  for (const { name } of expected) recursive.behave(name, "timeout");
  const stop = new AbortController();
  const running = createDomainCheck({ resolver, authoritative })(expected, stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(running, /enough/);
});
