import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { type ScriptedDns, startScriptedDns } from "../../test/harness/dns.ts";
import { createAddressGuard } from "../rules/address-guard.ts";
import { askedRecords, type RecordKey } from "../rules/dns-records.ts";
import { type Judgement, judgeRecord, type RecordState } from "../rules/record-judge.ts";
import { createAuthoritative } from "./authoritative.ts";
import { createDomainCheck } from "./domain-check.ts";
import { createResolver, type Resolver } from "./resolver.ts";

const asked = askedRecords({ domain: "shop.test", token: "tok", zone: "mail.test" });
let recursive: ScriptedDns;
let own: ScriptedDns;
before(async () => {
  recursive = await startScriptedDns();
  own = await startScriptedDns({ host: "127.0.0.2" });
});
after(() => Promise.all([recursive.stop(), own.stop()]));
beforeEach(() => {
  for (const dns of [recursive, own]) {
    for (const { name } of asked) {
      dns.remove(name);
      dns.behave(name, undefined);
    }
    dns.queries.length = 0;
  }
  recursive.set("shop.test", "NS", "ns.shop.test");
  recursive.set("ns.shop.test", "A", "127.0.0.2");
});

function publish(dns: ScriptedDns, ...keys: RecordKey[]): void {
  for (const { key, name, type, value, priority } of asked) {
    if (keys.includes(key)) dns.set(name, type, priority === undefined ? value : `${priority} ${value}`);
  }
}

async function check(previous: Partial<Record<RecordKey, RecordState>> = {}, timeoutMs?: number) {
  const resolver = createResolver({ servers: [recursive], queryTimeoutMs: 300 });
  const allowAddress = createAddressGuard({ allowCidrs: ["127.0.0.0/8"] });
  const authoritative = createAuthoritative({ resolver, allowAddress, port: own.port, queryTimeoutMs: 300 });
  const findings = await createDomainCheck({ resolver, authoritative, timeoutMs })(asked);
  return Object.fromEntries(
    asked.map((record) => [
      record.key,
      judgeRecord(record, findings.get(record.key) ?? assert.fail(), previous[record.key]),
    ]),
  ) as Record<RecordKey, Judgement>;
}

const statuses = (judged: Record<RecordKey, Judgement>) => Object.values(judged).map(({ status }) => status);

test("all records published: all found, and nobody else is asked", async () => {
  publish(recursive, ...asked.map(({ key }) => key));
  assert.deepEqual(
    statuses(await check()),
    asked.map(() => "found"),
  );
  assert.equal(own.queries.length, 0);
});

test("published at the source and not yet seen: missing, and waiting", async () => {
  publish(own, "dkim1", "mailFromMx", "dmarc");
  const judged = await check();
  for (const key of ["dkim1", "mailFromMx", "dmarc"] as const) {
    assert.deepEqual([judged[key].status, judged[key].waiting], ["missing", true], key);
  }
  assert.deepEqual([judged.dkim2.status, judged.dkim2.waiting], ["missing", false]);
});

test("a record the source still has stays found", async () => {
  const before: RecordState = { status: "found", discoveredValue: "v=DMARC1; p=none", note: "" };
  publish(own, "dmarc");
  assert.equal((await check({ dmarc: before })).dmarc.status, "found");
  own.remove("_dmarc.shop.test");
  assert.equal((await check({ dmarc: before })).dmarc.status, "missing");
});

test("a record entered with the zone twice is found and said", async () => {
  const [dkim] = asked;
  assert.ok(dkim);
  recursive.set(`${dkim.name}.shop.test`, "CNAME", dkim.value);
  const judged = await check();
  assert.equal(judged.dkim1.status, "missing");
  assert.match(judged.dkim1.note, /found at ph1\._domainkey\.shop\.test\.shop\.test/);
});

test("a silent resolver: every record keeps its status, and the check ends in its time", async () => {
  for (const { name } of asked) recursive.behave(name, "timeout");
  const found: RecordState = { status: "found", discoveredValue: "x", note: "" };
  const judged = await check({ dkim1: found }, 400);
  assert.deepEqual([judged.dkim1.status, judged.dkim1.unanswered], ["found", true]);
  assert.deepEqual([judged.dkim2.status, judged.dkim2.unanswered], ["pending", true]);
});

test("a check ends after five seconds, whatever does not answer", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  // As the real one with a dead server and no limit of its own: it gives up with the check's signal.
  const lookup = async (_name: string, _type: string, { signal }: { signal?: AbortSignal } = {}) => {
    await new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
    return { kind: "timeout" };
  };
  const silent = { lookup: lookup as Resolver["lookup"], stop: () => {} };
  const authoritative = createAuthoritative({ resolver: silent, allowAddress: () => false });
  let ended = false;
  const running = createDomainCheck({ resolver: silent, authoritative })(asked).then(() => (ended = true));
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(4_999);
  for (let i = 0; i < 10; i++) await turn();
  assert.equal(ended, false);
  t.mock.timers.tick(1);
  await running;
});

test("silent servers of the domain do not hold up the check", async () => {
  for (const { name } of asked) own.behave(name, "timeout");
  const judged = await check({}, 500);
  assert.deepEqual(
    statuses(judged),
    asked.map(() => "missing"),
  );
  assert.ok(Object.values(judged).every(({ waiting }) => !waiting));
});

test("an abort ends the check", async () => {
  const resolver = createResolver({ servers: [recursive] });
  const authoritative = createAuthoritative({ resolver, allowAddress: () => false });
  for (const { name } of asked) recursive.behave(name, "timeout");
  const stop = new AbortController();
  const running = createDomainCheck({ resolver, authoritative })(asked, stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(running, /enough/);
});
