import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { expectedRecords, type RecordKey, type RecordStatus, recordKeys } from "./records.ts";
import {
  canReceive,
  canSend,
  type DomainEvent,
  type DomainFacts,
  type DomainStatus,
  domainEvents,
  domainMachine,
  domainStatuses,
  newDomain,
  next,
  ownReturnPath,
  type RecordResult,
} from "./status.ts";

const created = new Date("2026-01-01T00:00:00Z");
const hours = (count: number): Date => new Date(created.getTime() + count * 3_600_000);
const records = expectedRecords({ domain: "shop.example", token: "t", zone: "mail.test" });
const needed: RecordKey[] = ["dkim1", "dkim2", "dmarc", "mailFromMx", "mailFromSpf"];

function results(found: readonly RecordKey[], otherwise: RecordStatus = "missing"): RecordResult[] {
  return records.map((record) => ({ record, status: found.includes(record.key) ? "found" : otherwise }));
}

/** Runs a sequence of checks: the hour, the records found, and the expected status. */
function runChecks(...checks: [hour: number, found: readonly RecordKey[], expected: DomainStatus][]): DomainFacts {
  return checks.reduce((facts, [hour, found, expected]) => {
    const after = next(facts, results(found), hours(hour)).facts;
    assert.equal(after.status, expected, `at hour ${hour}`);
    return after;
  }, newDomain(created));
}

test("a domain goes from pending to ready record by record", () => {
  runChecks(
    [0, [], "pending"],
    [1, ["mx", "spf"], "pending"],
    [1.1, ["dmarc"], "verifying"],
    [2, ["dkim1", "dmarc"], "verifying"],
    [3, needed, "ready"],
    [9, needed, "ready"],
  );
});

test("a ready domain that loses a required record is degraded until the record is back", () => {
  runChecks([1, needed, "ready"], [2, needed.slice(1), "degraded"], [3, needed, "ready"]);
});

test("a ready domain that loses all records is degraded for 72 hours, then failed, until DKIM is back", () => {
  runChecks(
    [1, needed, "ready"],
    [7, [], "degraded"],
    [78, ["dmarc"], "degraded"],
    [79, [], "failed"],
    [90, ["dmarc"], "failed"],
    [91, ["dkim2"], "degraded"],
    [92, needed, "ready"],
  );
});

test("the 72 hours start at the check that finds DKIM missing, not at the last check before it", () => {
  runChecks([1, needed, "ready"], [100, [], "degraded"], [171, [], "degraded"], [172, [], "failed"]);
});

test("a domain with DKIM but without other required records is degraded after 24 hours", () => {
  runChecks(
    [30, ["dmarc"], "verifying"],
    [31, ["dkim1", "dmarc"], "verifying"],
    [55, ["dkim1", "dkim2"], "verifying"],
    [55.1, ["dkim1", "dkim2"], "degraded"],
    [56, ["dmarc"], "verifying"],
    [57, ["dkim1"], "verifying"],
    [60, needed, "ready"],
  );
});

test("a domain without DKIM 72 hours after registration is failed, even if other records are found", () => {
  runChecks([71.9, ["dmarc"], "verifying"], [72, ["dmarc", "mailFromMx"], "failed"], [80, ["dkim1"], "verifying"]);
  runChecks([71.9, [], "pending"], [72, [], "failed"], [100, needed, "ready"]);
});

test("record statuses kept while DNS does not answer keep the domain's status", () => {
  const ready = runChecks([1, needed, "ready"]);
  assert.equal(next(ready, results(needed), hours(500)).facts.status, "ready");
});

const target: Record<DomainEvent, DomainStatus> = {
  nothing: "pending",
  some: "verifying",
  all: "ready",
  stuck: "degraded",
  lost: "degraded",
  expired: "failed",
};

test("any sequence of checks follows the transition table and ends in the status of its last event", () => {
  const check = fc.record({ gap: fc.integer({ min: 0, max: 100 }), found: fc.subarray([...recordKeys]) });
  fc.assert(
    fc.property(fc.array(check, { maxLength: 30 }), (checks) => {
      let facts = newDomain(created);
      let hour = 0;
      for (const { gap, found } of checks) {
        hour += gap;
        const step = next(facts, results(found), hours(hour));
        assert.equal(step.facts.status, target[step.event], `${facts.status} + ${step.event}`);
        const row = domainMachine.transitions.some((one) => one.from === facts.status && one.event === step.event);
        assert.ok(row || step.facts.status === facts.status);
        facts = step.facts;
      }
    }),
    { seed: 3, numRuns: 3000 },
  );
});

test("the table lists each pair of known state and event once, and reaches every state", () => {
  const pairs = domainMachine.transitions.map(({ from, event }) => `${from} ${event}`);
  assert.equal(new Set(pairs).size, pairs.length);
  assert.deepEqual(Object.keys(domainMachine.states), domainStatuses);
  assert.deepEqual(Object.keys(domainMachine.events), domainEvents);
  const reached = new Set<string>([domainMachine.initial, ...domainMachine.transitions.map(({ to }) => to)]);
  assert.deepEqual([...reached].toSorted(), [...domainStatuses].toSorted());
});

test("the database constraint allows the same states", () => {
  const folder = join(import.meta.dirname, "../../postgres/migrations");
  const sql = globSync(join(folder, "*.sql"))
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
  const [, list] =
    /create table domains \([^;]*?check \(status in \(([^)]*)\)\)/.exec(sql) ?? assert.fail("no constraint");
  assert.deepEqual(list?.match(/[a-z]+/g), domainStatuses);
});

test("canSend, canReceive and the return path follow from the records", () => {
  assert.ok(canSend("verifying", results(["dkim2"])));
  assert.ok(!canSend("failed", results(["dkim2"])));
  assert.ok(!canSend("verifying", results(["dmarc"])));
  assert.ok(canReceive(results(["dkim1", "mx"])));
  assert.ok(!canReceive(results(["mx"])));
  assert.ok(!canReceive(results(["dkim1"])));
  assert.ok(ownReturnPath(results(["mailFromMx", "mailFromSpf"])));
  assert.ok(!ownReturnPath(results(["mailFromMx"])));
});
