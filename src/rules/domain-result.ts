/** What one check makes of a domain: findings in, everything that is stored out. Pure; called by the checker for every check. */
import { nextCheckAt } from "./check-plan.ts";
import type { AskedRecord, RecordKey } from "./dns-records.ts";
import { canSend, type DomainFacts, type DomainStatus, next, ownReturnPath } from "./domain-status.ts";
import { type DomainSummary, type JudgedRecord, summarise } from "./domain-summary.ts";
import { type Judgement, judgeRecord, type RecordFinding, unchecked } from "./record-judge.ts";

/** A record's judgement as it is stored with its domain. */
export type StoredRecord = Judgement & { key: RecordKey };

/** `verify`: a person asked for it. `refresh`: the stored state was stale. `background`: its turn had come. */
export type CheckKind = "verify" | "refresh" | "background";

export type CheckedDomain = {
  domain: string;
  facts: DomainFacts;
  records: readonly StoredRecord[];
  canSend: boolean;
  canReceive: boolean;
  /** Checks in the background since the status changed or somebody asked. */
  checks: number;
};

export type CheckResult = {
  facts: DomainFacts;
  records: StoredRecord[];
  summary: DomainSummary;
  /** The DKIM keys that receivers can find: 1 for ph1, 2 for ph2. */
  signingSlots: (1 | 2)[];
  mailFromReady: boolean;
  checks: number;
  nextCheckAt: Date;
  /** Something that a person sees is not as before. */
  changed: boolean;
  /** Set where the change is worth an event. */
  previousStatus: DomainStatus | undefined;
};

export function resultOf(input: {
  before: CheckedDomain;
  asked: readonly AskedRecord[];
  findings: ReadonlyMap<RecordKey, RecordFinding>;
  kind: CheckKind;
  now: Date;
  /** From 0 to 1. */
  jitter: number;
}): CheckResult {
  const { before, asked, findings, now } = input;
  const judged = judgedRecords(asked, before.records).map((one): JudgedRecord & Judgement => {
    const finding = findings.get(one.record.key);
    const { record, ...state } = one;
    return { record, ...(finding ? judgeRecord(record, finding, state) : state) };
  });
  const { facts } = next(before.facts, judged, now);
  const summary = summarise(before.domain, facts.status, judged);
  const records = judged.map(({ record, ...state }): StoredRecord => ({ key: record.key, ...state }));
  const moved = facts.status !== before.facts.status;
  const worthAnEvent =
    moved || canSend(facts.status, judged) !== before.canSend || summary.canReceive !== before.canReceive;
  // Somebody who asks has just changed something: the background looks often again.
  const checks =
    moved || input.kind === "verify" ? 1 : input.kind === "background" ? before.checks + 1 : Math.max(before.checks, 1);
  return {
    facts,
    records,
    summary,
    signingSlots: ([1, 2] as const).filter((slot) =>
      records.some((one) => one.key === `dkim${slot}` && one.status === "found"),
    ),
    mailFromReady: ownReturnPath(judged),
    checks,
    nextCheckAt: nextCheckAt({ status: facts.status, checksInStatus: checks, now, jitter: input.jitter }),
    changed: worthAnEvent || !sameRecords(records, before.records),
    previousStatus: worthAnEvent ? before.facts.status : undefined,
  };
}

/** The asked records with what is known of each; before the first check nothing is. */
export function judgedRecords(
  asked: readonly AskedRecord[],
  stored: readonly StoredRecord[],
): (JudgedRecord & Judgement)[] {
  return asked.map((record) => {
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
  const seen = (records: readonly StoredRecord[]) =>
    records.map(({ key, status, discoveredValue, waiting }) => `${key} ${status} ${waiting} ${discoveredValue}`).join();
  return seen(a) === seen(b);
}
