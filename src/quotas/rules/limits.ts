/** The kinds of quotas, the limits of a workspace, the windows in which they count, and the answer when one is used up. Pure. Called by
 * the stores and services that check a quota. */
import { Problem } from "../../ops/problem.ts";

export const quotaKinds = [
  "emailsPerHour",
  "emailsPerDay",
  "storedBytes",
  "inboundPerHour",
  "domains",
  "keys",
  "webhooks",
  "members",
  "streams",
] as const;
export type QuotaKind = (typeof quotaKinds)[number];

/** Null: unlimited. */
export type Limit = number | null;
export type Limits = Record<QuotaKind, Limit>;

/** The limits of the settings: for workspaces in general, and for those of people who came through open sign-up. */
export type QuotaDefaults = { established: Limits; fromSignUp: Limits };

export const unlimited: Limits = Object.fromEntries(quotaKinds.map((kind) => [kind, null])) as Limits;
export const noDefaults: QuotaDefaults = { established: unlimited, fromSignUp: unlimited };

/** What the row of a workspace says about its limits. */
export type QuotaRow = { quota: Partial<Record<QuotaKind, Limit>>; fromSignUp: boolean };

export function limitsOf({ quota, fromSignUp }: QuotaRow, defaults: QuotaDefaults): Limits {
  const general = fromSignUp ? defaults.fromSignUp : defaults.established;
  return Object.fromEntries(
    quotaKinds.map((kind) => [kind, quota[kind] === undefined ? general[kind] : quota[kind]]),
  ) as Limits;
}

const hourMs = 3_600_000;
const windowMs: Partial<Record<QuotaKind, number>> = {
  emailsPerHour: hourMs,
  emailsPerDay: 24 * hourMs,
  inboundPerHour: hourMs,
};

/** The window that a service time is in. Undefined for a quota that does not count by time. */
export function windowAt(kind: QuotaKind, serviceMs: number): { startMs: number; endMs: number } | undefined {
  const lengthMs = windowMs[kind];
  if (lengthMs === undefined) return undefined;
  const startMs = Math.floor(serviceMs / lengthMs) * lengthMs;
  return { startMs, endMs: startMs + lengthMs };
}

export const thresholds = [80, 100] as const;

/** The highest threshold that is reached, in percent. Undefined below the first one, without a limit, and when nothing is used: a limit
 * of 0 is worth a report only when a call was refused. */
export function reached(used: number, limit: Limit): number | undefined {
  if (limit === null || used === 0) return undefined;
  return thresholds.findLast((percent) => used * 100 >= limit * percent);
}

/** Each kind in words, for sentences such as "the quota of 5 domains". */
export const kindNames: Record<QuotaKind, string> = {
  emailsPerHour: "emails per hour",
  emailsPerDay: "emails per day",
  storedBytes: "stored bytes",
  inboundPerHour: "inbound messages per hour",
  domains: "domains",
  keys: "API keys",
  webhooks: "webhooks",
  members: "members",
  streams: "open event streams",
};

/** What helps, for the quotas in which time does not. */
const remedies: Record<QuotaKind, string> = {
  emailsPerHour: "An email counts once for each recipient.",
  emailsPerDay: "An email counts once for each recipient.",
  storedBytes: "Content is deleted after its retention period. Send smaller attachments, or ask the operator for more.",
  inboundPerHour: "",
  domains: "Delete one that is no longer needed, or ask the operator for more.",
  keys: "Revoke one that is no longer needed, or ask the operator for more.",
  webhooks: "Delete one that is no longer needed, or ask the operator for more.",
  members: "Remove a member or revoke an invitation, or ask the operator for more.",
  streams: "Close one that is no longer needed, or ask the operator for more.",
};

/** The refusal when a quota does not suffice. `retryAfterMs`: the time until its window ends. */
export function quotaExceeded(kind: QuotaKind, limit: number, retryAfterMs?: number): Problem {
  const message = `This workspace has reached its quota of ${limit} ${kindNames[kind]}. ${remedies[kind]}`.trim();
  return new Problem("resource_exhausted", message, {
    retryAfterMs: retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs),
    reason: "QUOTA_EXCEEDED",
    metadata: { quota: kind, limit: String(limit) },
  });
}

export function workspaceSuspended(reason: string): Problem {
  const message = `This workspace is suspended and cannot send: ${reason} Queued mail waits. Ask the operator of this service.`;
  return new Problem("failed_precondition", message, { reason: "WORKSPACE_SUSPENDED" });
}
