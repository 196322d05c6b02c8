import assert from "node:assert/strict";
import { test } from "node:test";
import { type AskedRecord, askedRecords, type RecordKey } from "./dns-records.ts";
import { type CheckedDomain, type CheckKind, resultOf } from "./domain-result.ts";
import { newDomain } from "./domain-status.ts";
import type { RecordFinding } from "./record-judge.ts";
import type { RecordView } from "./record-view.ts";

const asked = askedRecords({ domain: "shop.test", token: "tok", zone: "mail.test" });
const registeredAt = new Date("2026-01-01T00:00:00Z");
const needed: RecordKey[] = ["dkim1", "dkim2", "dmarc", "mailFromMx", "mailFromSpf"];

const fresh: CheckedDomain = {
  ...{ domain: "shop.test", facts: newDomain(registeredAt), records: [], canSend: false, canReceive: false, checks: 0 },
};

function findings(found: readonly RecordKey[], silent: readonly RecordKey[] = []): Map<RecordKey, RecordFinding> {
  return new Map(
    asked.map((record) => [
      record.key,
      { recursive: silent.includes(record.key) ? silence : found.includes(record.key) ? present(record) : absent },
    ]),
  );
}

const nothing = { kind: "nxdomain" as const, chain: [], ttlSeconds: 60 };
const absent: RecordView = { cname: nothing, txt: nothing, mx: nothing };
const timeout = { kind: "timeout" as const };
const silence: RecordView = { cname: timeout, txt: timeout, mx: timeout };

function present(record: AskedRecord): RecordView {
  const owned = { name: record.name, ttl: 60 };
  const answer = { kind: "found" as const, chain: [], ttlSeconds: 60 };
  if (record.type === "CNAME")
    return { cname: { ...answer, records: [{ ...owned, type: "CNAME", target: record.value }] }, txt: nothing };
  if (record.type === "MX")
    return { mx: { ...answer, records: [{ ...owned, type: "MX", priority: 10, exchange: record.value }] } };
  const texts = [record.value];
  return {
    txt: { ...answer, records: [{ ...owned, type: "TXT", strings: texts }] },
    ...(record.purpose === "DMARC" ? {} : { spf: { kind: "authorised" as const, texts, problem: "" } }),
  } as RecordView;
}

function check(
  before: CheckedDomain,
  found: Map<RecordKey, RecordFinding>,
  kind: CheckKind = "background",
  minutes = 5,
) {
  const now = new Date(registeredAt.getTime() + minutes * 60_000);
  return resultOf({ before, asked, findings: found, kind, now, jitter: 0.5 });
}

const after = (before: CheckedDomain, result: ReturnType<typeof check>): CheckedDomain => ({
  ...before,
  ...result,
  canSend: result.summary.canSend,
  canReceive: result.summary.canReceive,
});

test("all found: ready, everything that sending needs, and an event", () => {
  const result = check(fresh, findings([...needed, "mx", "spf"]));
  assert.equal(result.facts.status, "ready");
  assert.deepEqual(result.signingSlots, [1, 2]);
  assert.equal(result.mailFromReady, true);
  assert.equal(result.previousStatus, "pending");
  assert.deepEqual(
    result.records.map(({ key, status }) => [key, status]),
    asked.map(({ key }) => [key, "found"]),
  );
  assert.equal(result.nextCheckAt.getTime() - registeredAt.getTime(), (5 + 6 * 60) * 60_000);
});

test("the same findings again change nothing and make no event", () => {
  const first = check(fresh, findings(["dkim2", "mx"]));
  assert.deepEqual([first.changed, first.previousStatus, first.signingSlots], [true, "pending", [2]]);
  const second = check(after(fresh, first), findings(["dkim2", "mx"]), "background", 10);
  assert.deepEqual([second.changed, second.previousStatus], [false, undefined]);
});

test("receiving alone is worth an event; a record that nothing hangs on is a change without one", () => {
  const verifying = after(fresh, check(fresh, findings(["dkim1"])));
  const receiving = check(verifying, findings(["dkim1", "mx"]), "background", 10);
  assert.deepEqual([receiving.facts.status, receiving.previousStatus], ["verifying", "verifying"]);
  const spf = check(verifying, findings(["dkim1", "spf"]), "background", 10);
  assert.deepEqual([spf.changed, spf.previousStatus], [true, undefined]);
});

test("silence keeps what was known and is said", () => {
  const ready = after(fresh, check(fresh, findings([...needed, "mx"])));
  const result = check(
    ready,
    findings(
      [],
      asked.map(({ key }) => key),
    ),
    "background",
    10,
  );
  assert.equal(result.facts.status, "ready");
  assert.deepEqual(result.signingSlots, [1, 2]);
  assert.equal(result.previousStatus, undefined);
  assert.match(result.summary.message, /could not be asked/);
});

test("the background backs off; a person who asks and a new status make it look often again", () => {
  let domain = fresh;
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
