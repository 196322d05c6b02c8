/** The state machine of a sending domain: a transition table, and `next`, which result.ts calls for every check. */

import { type StateMachine, step } from "../../ops/state-machine.ts";
import type { ExpectedRecord, RecordKey, RecordStatus } from "./records.ts";

export const domainStatuses = ["pending", "verifying", "ready", "degraded", "failed"] as const;
export type DomainStatus = (typeof domainStatuses)[number];

export const domainEvents = ["nothing", "some", "all", "stuck", "lost", "expired"] as const;
/** What the findings of a check amount to. */
export type DomainEvent = (typeof domainEvents)[number];

export const domainMachine: StateMachine<DomainStatus, DomainEvent> = {
  name: "domain",
  about: "The status of a sending domain. Every check of its DNS records produces one event.",
  initial: "pending",
  states: {
    pending: "No required record has been found yet.",
    verifying: "Some of the required records are found, but not all.",
    ready: "All required records are found.",
    degraded:
      "The domain was ready and a required record is now missing, or DKIM is found while other required records stay missing.",
    failed: "No DKIM record has been found for 72 hours. The domain cannot send.",
  },
  events: {
    nothing: "no required record is found",
    some: "some required records are found",
    all: "all required records are found",
    stuck: "DKIM has been found for over 24 hours without interruption, and other required records are still missing",
    lost: "the domain was ready before, and not all required records are found",
    expired: "no DKIM record for 72 hours, counted from the last time one was found, or from registration",
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

/** The part of a domain's history that the next step needs. */
export type DomainFacts = {
  status: DomainStatus;
  /** The registration. All times of the facts are service time. */
  createdAt: Date;
  /** The last check that left the domain ready; null: never. */
  readyAt: Date | null;
  /** The last time a DKIM record existed, as far as checks can tell; null: never. */
  dkimSeenAt: Date | null;
  /** Since when DKIM is found but other required records are not; null: this is not the case. */
  incompleteSince: Date | null;
  /** Whether a DKIM record was found at the previous check. */
  hadDkim: boolean;
};

export type RecordResult = { record: Pick<ExpectedRecord, "key" | "purpose" | "need">; status: RecordStatus };

const hour = 3_600_000;
export const domainTimes = { stuckAfterMs: 24 * hour, failedAfterMs: 72 * hour } as const;

/** Returns the facts after a check, and the event that led to them. */
export function next(
  facts: DomainFacts,
  results: readonly RecordResult[],
  now: Date,
): { facts: DomainFacts; event: DomainEvent } {
  const needed = results.filter(({ record }) => record.need === "required");
  const found = needed.filter(({ status }) => status === "found").length;
  const complete = found === needed.length;
  const dkim = hasDkim(results);

  // A check that finds the last DKIM record gone cannot know when it was removed: the 72 hours start now.
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

/** The facts of a newly registered domain, before any check. */
export function newDomain(createdAt: Date): DomainFacts {
  return { status: "pending", createdAt, readyAt: null, dkimSeenAt: null, incompleteSince: null, hadDkim: false };
}

/** One DKIM selector is enough to sign mail. */
export function canSend(status: DomainStatus, results: readonly RecordResult[]): boolean {
  return status !== "failed" && hasDkim(results);
}

/** The MX record is the same for every registration and proves nothing, so a DKIM record is required as well. */
export function canReceive(results: readonly RecordResult[]): boolean {
  return hasDkim(results) && isFound(results, "mx");
}

/** The return path may use the domain's own name only while both MAIL FROM records are found. */
export function ownReturnPath(results: readonly RecordResult[]): boolean {
  return isFound(results, "mailFromMx") && isFound(results, "mailFromSpf");
}

function hasDkim(results: readonly RecordResult[]): boolean {
  return isFound(results, "dkim1") || isFound(results, "dkim2");
}

function isFound(results: readonly RecordResult[], key: RecordKey): boolean {
  return results.some(({ record, status }) => record.key === key && status === "found");
}
