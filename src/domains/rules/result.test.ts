import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecordFinding } from "./judge.ts";
import type { RecordView } from "./record-view.ts";
import { type ExpectedRecord, expectedRecords, type RecordKey } from "./records.ts";
import { type CheckedDomain, type CheckKind, resultOf } from "./result.ts";
import { newDomain } from "./status.ts";

const expected = expectedRecords({ domain: "shop.test", token: "tok", zone: "mail.test" });
const registeredAt = new Date("2026-01-01T00:00:00Z");
const needed: RecordKey[] = ["dkim1", "dkim2", "dmarc", "mailFromMx", "mailFromSpf"];

const registered: CheckedDomain = {
  domain: "shop.test",
  facts: newDomain(registeredAt),
  records: [],
  canSend: false,
  canReceive: false,
  checks: 0,
  importedKeys: [],
};

function findings(found: readonly RecordKey[], silent: readonly RecordKey[] = []): Map<RecordKey, RecordFinding> {
  return new Map(
    expected.map((record) => [
      record.key,
      { recursive: silent.includes(record.key) ? silence : found.includes(record.key) ? present(record) : absent },
    ]),
  );
}

const nothing = { kind: "nxdomain" as const, chain: [], ttlSeconds: 60 };
const absent: RecordView = { cname: nothing, txt: nothing, mx: nothing };
const timeout = { kind: "timeout" as const };
const silence: RecordView = { cname: timeout, txt: timeout, mx: timeout };

function present(record: ExpectedRecord): RecordView {
  const owned = { name: record.name, ttl: 60 };
  const answer = { kind: "found" as const, chain: [], ttlSeconds: 60 };
  if (record.type === "CNAME")
    return { cname: { ...answer, records: [{ ...owned, type: "CNAME", target: record.value }] }, txt: nothing };
  if (record.type === "MX")
    return { mx: { ...answer, records: [{ ...owned, type: "MX", priority: 10, exchange: record.value }] } };
  const texts = [record.value];
  return {
    txt: { ...answer, records: [{ ...owned, type: "TXT", strings: texts }] },
    ...(record.purpose === "DMARC" ? {} : { spf: { kind: "authorized" as const, texts, problem: "" } }),
  } as RecordView;
}

function check(
  before: CheckedDomain,
  found: Map<RecordKey, RecordFinding>,
  kind: CheckKind = "background",
  minutes = 5,
) {
  const now = new Date(registeredAt.getTime() + minutes * 60_000);
  return resultOf({ before, expected, findings: found, zone: undefined, kind, now, jitter: 0.5 });
}

const after = (before: CheckedDomain, result: ReturnType<typeof check>): CheckedDomain => ({
  ...before,
  ...result,
  importedKeys: before.importedKeys,
  canSend: result.summary.canSend,
  canReceive: result.summary.canReceive,
});

test("with all records found, the domain is ready, has all that sending needs, and reports an event", () => {
  const result = check(registered, findings([...needed, "mx", "spf"]));
  assert.equal(result.facts.status, "ready");
  assert.deepEqual(result.signingSlots, [1, 2]);
  assert.equal(result.mailFromReady, true);
  assert.equal(result.previousStatus, "pending");
  assert.deepEqual(
    result.records.map(({ key, status }) => [key, status]),
    expected.map(({ key }) => [key, "found"]),
  );
  assert.equal(result.nextCheckAt.getTime() - registeredAt.getTime(), (5 + 6 * 60) * 60_000);
});

test("the same findings again change nothing and report no event", () => {
  const first = check(registered, findings(["dkim2", "mx"]));
  assert.deepEqual([first.changed, first.previousStatus, first.signingSlots], [true, "pending", [2]]);
  const second = check(after(registered, first), findings(["dkim2", "mx"]), "background", 10);
  assert.deepEqual([second.changed, second.previousStatus], [false, undefined]);
});

test("a change of canReceive alone reports an event; a recommended record is a change without one", () => {
  const verifying = after(registered, check(registered, findings(["dkim1"])));
  const receiving = check(verifying, findings(["dkim1", "mx"]), "background", 10);
  assert.deepEqual([receiving.facts.status, receiving.previousStatus], ["verifying", "verifying"]);
  const spf = check(verifying, findings(["dkim1", "spf"]), "background", 10);
  assert.deepEqual([spf.changed, spf.previousStatus], [true, undefined]);
});

test("without an answer from DNS the last state is kept, and the message reports it", () => {
  const ready = after(registered, check(registered, findings([...needed, "mx"])));
  const result = check(
    ready,
    findings(
      [],
      expected.map(({ key }) => key),
    ),
    "background",
    10,
  );
  assert.equal(result.facts.status, "ready");
  assert.deepEqual(result.signingSlots, [1, 2]);
  assert.equal(result.previousStatus, undefined);
  assert.match(result.summary.message, /DNS did not answer/);
});

test("background checks back off; a requested check or a new status resets the back-off", () => {
  let domain = registered;
  const waits: number[] = [];
  let minutes = 5;
  for (let i = 0; i < 6; i++) {
    const result = check(domain, findings([]), "background", minutes);
    waits.push((result.nextCheckAt.getTime() - registeredAt.getTime()) / 60_000 - minutes);
    minutes += waits.at(-1)!;
    domain = after(domain, result);
  }
  assert.deepEqual(waits, [5, 10, 20, 40, 60, 60]);
  assert.equal(check(domain, findings([]), "refresh", minutes).checks, 6);
  assert.equal(check(domain, findings([]), "verify", minutes).checks, 1);
  assert.equal(check(domain, findings(["dmarc"]), "background", minutes).checks, 1);
});
