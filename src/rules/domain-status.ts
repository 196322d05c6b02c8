/** The status machine of a sending domain: a table, and `next`, which every check calls with its judgements and the time. */
import type { AskedRecord, RecordKey, RecordStatus } from "./dns-records.ts";
import { type StateMachine, step } from "./state-machine.ts";

export const domainStatuses = ["pending", "verifying", "ready", "degraded", "failed"] as const;
export type DomainStatus = (typeof domainStatuses)[number];

export const domainEvents = ["nothing", "some", "all", "stuck", "lost", "expired"] as const;
/** What the findings of a check call for. */
export type DomainEvent = (typeof domainEvents)[number];

export const domainMachine: StateMachine<DomainStatus, DomainEvent> = {
  name: "domain",
  about: "The status of a sending domain. Every check of its DNS records makes one event.",
  initial: "pending",
  states: {
    pending: "Nothing that is needed was found yet.",
    verifying: "Some of the needed records are found, but not all.",
    ready: "All needed records are found.",
    degraded: "It was ready and something needed has gone, or DKIM stands while other needed records stay missing.",
    failed: "No DKIM record was found for 72 hours. Nothing can be sent.",
  },
  events: {
    nothing: "no needed record is found",
    some: "some needed records are found",
    all: "all needed records are found",
    stuck: "DKIM has been found for over 24 hours without a break, and other needed records are still not",
    lost: "the domain was ready before, and not all needed records are found",
    expired: "no DKIM record for 72 hours, counted from the last time one was seen, or from registration",
  },
  transitions: [
    { from: "pending", event: "some", to: "verifying" },
    { from: "pending", event: "all", to: "ready" },
    { from: "pending", event: "expired", to: "failed" },
    { from: "verifying", event: "nothing", to: "pending" },
    { from: "verifying", event: "all", to: "ready" },
    { from: "verifying", event: "stuck", to: "degraded" },
    { from: "verifying", event: "expired", to: "failed" },
    { from: "ready", event: "lost", to: "degraded" },
    { from: "degraded", event: "all", to: "ready" },
    { from: "degraded", event: "some", to: "verifying" },
    { from: "degraded", event: "nothing", to: "pending" },
    { from: "degraded", event: "expired", to: "failed" },
    { from: "failed", event: "all", to: "ready" },
    { from: "failed", event: "some", to: "verifying" },
    { from: "failed", event: "lost", to: "degraded" },
  ],
};

/** What is stored of a domain's past, as much as the next step needs. */
export type DomainFacts = {
  status: DomainStatus;
  createdAt: Date;
  /** The last time it became or was found ready; null: never. */
  readyAt: Date | null;
  /** The last time a DKIM record was there, as far as checks can tell; null: never. */
  dkimSeenAt: Date | null;
  /** Since when DKIM stands while other needed records do not; null: it is not so. */
  incompleteSince: Date | null;
  /** Whether a DKIM record was found at the previous check. */
  hadDkim: boolean;
};

export type RecordResult = { record: Pick<AskedRecord, "key" | "purpose" | "need">; status: RecordStatus };

const hour = 3_600_000;
export const domainTimes = { stuckAfterMs: 24 * hour, failedAfterMs: 72 * hour } as const;

/** The facts after a check. The event says why. */
export function next(
  facts: DomainFacts,
  results: readonly RecordResult[],
  now: Date,
): { facts: DomainFacts; event: DomainEvent } {
  const needed = results.filter(({ record }) => record.need === "required");
  const found = needed.filter(({ status }) => status === "found").length;
  const complete = found === needed.length;
  const dkim = hasDkim(results);

  // A check that finds the last DKIM record gone cannot tell when it went: the 72 hours start with this check.
  const dkimSeenAt = dkim || facts.hadDkim ? now : facts.dkimSeenAt;
  const incompleteSince = dkim && !complete ? (facts.incompleteSince ?? now) : null;
  const event = eventOf();
  const status = step(domainMachine, facts.status, event);
  const readyAt = status === "ready" ? now : facts.readyAt;
  return {
    event,
    facts: { status, createdAt: facts.createdAt, readyAt, dkimSeenAt, incompleteSince, hadDkim: dkim },
  };

  function eventOf(): DomainEvent {
    if (complete) return "all";
    const lastSeen = dkimSeenAt ?? facts.createdAt;
    if (!dkim && now.getTime() - lastSeen.getTime() >= domainTimes.failedAfterMs) return "expired";
    if (facts.readyAt !== null) return "lost";
    if (incompleteSince !== null && now.getTime() - incompleteSince.getTime() > domainTimes.stuckAfterMs)
      return "stuck";
    return found === 0 ? "nothing" : "some";
  }
}

/** A domain as it is registered, before any check. */
export function newDomain(createdAt: Date): DomainFacts {
  return { status: "pending", createdAt, readyAt: null, dkimSeenAt: null, incompleteSince: null, hadDkim: false };
}

/** Mail can be signed: one DKIM selector is enough. */
export function canSend(status: DomainStatus, results: readonly RecordResult[]): boolean {
  return status !== "failed" && hasDkim(results);
}

/** The MX record alone proves nothing, since it is the same for every registration: a DKIM record must stand as well. */
export function canReceive(results: readonly RecordResult[]): boolean {
  return hasDkim(results) && isFound(results, "mx");
}

/** The return path may use the domain's own name only while both of its records stand. */
export function ownReturnPath(results: readonly RecordResult[]): boolean {
  return isFound(results, "mailFromMx") && isFound(results, "mailFromSpf");
}

function hasDkim(results: readonly RecordResult[]): boolean {
  return isFound(results, "dkim1") || isFound(results, "dkim2");
}

function isFound(results: readonly RecordResult[], key: RecordKey): boolean {
  return results.some(({ record, status }) => record.key === key && status === "found");
}
