/** Computes from the findings of one check everything that is stored for the domain. The checker calls it for every check. */
import type { ZoneCut } from "../../dns/record.ts";
import { nextCheckAt } from "./check-plan.ts";
import { type ImportedKey, type ImportedKeyChecks, judgeImportedKeys } from "./imported-keys.ts";
import { type Judgment, judgeRecord, type RecordFinding, unchecked } from "./judge.ts";
import type { ExpectedRecord, RecordKey } from "./records.ts";
import { canSend, type DomainFacts, type DomainStatus, next, ownReturnPath } from "./status.ts";
import { type DomainSummary, type JudgedRecord, summarize } from "./summary.ts";

/** A record's judgment as stored with its domain. */
export type StoredRecord = Judgment & { key: RecordKey };

/** Why a check runs. `verify`: a caller requested it. `refresh`: the stored state was stale. `background`: it was due. */
export type CheckKind = "verify" | "refresh" | "background";

export type CheckedDomain = {
  domain: string;
  /** The zone at the DNS provider; null or undefined: unknown. */
  dnsZone?: string | null;
  facts: DomainFacts;
  records: readonly StoredRecord[];
  canSend: boolean;
  canReceive: boolean;
  /** Background checks since the status last changed or a caller last requested a check. */
  checks: number;
  importedKeys: readonly ImportedKey[];
};

export type DomainCheckResult = {
  facts: DomainFacts;
  records: StoredRecord[];
  summary: DomainSummary;
  /** The DKIM keys that receivers can find: 1 for ph1, 2 for ph2. */
  signingSlots: (1 | 2)[];
  mailFromReady: boolean;
  checks: number;
  nextCheckAt: Date;
  /** The zone at the DNS provider. Undefined: DNS did not tell, and the last known one is kept. */
  zone: ZoneCut | undefined;
  /** The status or a record differs from the previous check. */
  changed: boolean;
  importedKeys: ImportedKeyChecks;
  /** Set if the change is reported as an event. */
  previousStatus: DomainStatus | undefined;
};

export function resultOf(input: {
  before: CheckedDomain;
  expected: readonly ExpectedRecord<RecordKey>[];
  findings: ReadonlyMap<ExpectedRecord["key"], RecordFinding>;
  zone: ZoneCut | undefined;
  kind: CheckKind;
  now: Date;
  /** From 0 to 1. */
  jitter: number;
}): DomainCheckResult {
  const { before, expected, findings, now } = input;
  const judged = judgedRecords(expected, before.records).map((one): JudgedDomainRecord => {
    const finding = findings.get(one.record.key);
    const { record, ...state } = one;
    return { record, ...(finding ? judgeRecord(record, finding, state) : state) };
  });
  const { facts } = next(before.facts, judged, now);
  const summary = summarize(before.domain, facts.status, judged);
  const records = judged.map(({ record, ...state }): StoredRecord => ({ key: record.key, ...state }));
  const importedKeys = judgeImportedKeys({ ...before, dnsZone: input.zone?.zone ?? before.dnsZone }, findings);
  const statusChanged = facts.status !== before.facts.status;
  const reportsEvent =
    statusChanged ||
    canSend(facts.status, judged) !== before.canSend ||
    summary.canReceive !== before.canReceive ||
    importedKeys.message !== "";
  // A caller that requests a check has probably just changed a record, so background checks become frequent again.
  const checks =
    statusChanged || input.kind === "verify"
      ? 1
      : input.kind === "background"
        ? before.checks + 1
        : Math.max(before.checks, 1);
  return {
    facts,
    records,
    summary,
    zone: input.zone,
    signingSlots: ([1, 2] as const).filter((slot) =>
      records.some((one) => one.key === `dkim${slot}` && one.status === "found"),
    ),
    mailFromReady: ownReturnPath(judged),
    checks,
    nextCheckAt: nextCheckAt({
      // A key whose record is awaited is looked for as often as the records of a domain that is not ready.
      status: importedKeys.complete ? facts.status : "verifying",
      checksInStatus: checks,
      now,
      jitter: input.jitter,
    }),
    changed: reportsEvent || importedKeys.changed || !sameRecords(records, before.records),
    importedKeys,
    previousStatus: reportsEvent ? before.facts.status : undefined,
  };
}

type JudgedDomainRecord = JudgedRecord & Judgment & { record: ExpectedRecord<RecordKey> };

/** The expected records with their stored judgments. Before the first check, every record is pending. */
export function judgedRecords(
  expected: readonly ExpectedRecord<RecordKey>[],
  stored: readonly StoredRecord[],
): JudgedDomainRecord[] {
  return expected.map((record) => {
    const { key: _, ...state } = stored.find((one) => one.key === record.key) ?? {
      key: record.key,
      ...unchecked,
      waiting: false,
      unanswered: false,
    };
    return { record, ...state };
  });
}

function sameRecords(a: readonly StoredRecord[], b: readonly StoredRecord[]): boolean {
  const textOf = (records: readonly StoredRecord[]) =>
    records.map(({ key, status, discoveredValue, waiting }) => `${key} ${status} ${waiting} ${discoveredValue}`).join();
  return textOf(a) === textOf(b);
}
