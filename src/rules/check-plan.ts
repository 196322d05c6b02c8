/** What a domain check asks of DNS and when the next one is due. */

import { organisationPolicyName } from "../mail/dmarc.ts";
import type { LookupType } from "../mail/dns-record.ts";
import { type AskedRecord, nameInZone } from "./dns-records.ts";

/** `part` says which part of a record's view the answer becomes. */
export type Question = { name: string; type: "CNAME" | "TXT" | "MX"; part: "cname" | "txt" | "mx" | "organisation" };

/** The questions behind one record. A DKIM name is asked for both: a CNAME to us, or a TXT with our key copied into it. */
export function questionsOf(record: AskedRecord): Question[] {
  switch (record.purpose) {
    case "DKIM":
      return [
        { name: record.name, type: "CNAME", part: "cname" },
        { name: record.name, type: "TXT", part: "txt" },
      ];
    case "SPF":
    case "MAIL_FROM_SPF":
      return [{ name: record.name, type: "TXT", part: "txt" }];
    case "DMARC": {
      const organisation = organisationPolicyName(record.domain);
      const own: Question = { name: record.name, type: "TXT", part: "txt" };
      return organisation === undefined ? [own] : [own, { name: organisation, type: "TXT", part: "organisation" }];
    }
    case "MX_INBOUND":
    case "MAIL_FROM_MX":
      return [{ name: record.name, type: "MX", part: "mx" }];
  }
}

/** All questions of a check, each once; what SPF includes adds to them on the way. */
export function planCheck(records: readonly AskedRecord[]): { name: string; type: LookupType }[] {
  const questions = new Map<string, { name: string; type: LookupType }>();
  for (const { name, type } of records.flatMap(questionsOf)) questions.set(`${name} ${type}`, { name, type });
  return [...questions.values()];
}

/** Where a record lands when the provider adds its zone to a name that was entered whole: the commonest mistake of all. */
export function misplacedName(record: AskedRecord): string | undefined {
  const name = `${record.name}.${nameInZone(record).zone}`;
  return record.nameShort === "@" || name.length > 253 ? undefined : name;
}

const minute = 60_000;
export const checkTimes = {
  staleAfterMs: 5 * minute,
  firstMs: 5 * minute,
  longestMs: 60 * minute,
  readyMs: 6 * 60 * minute,
  timeoutMs: 5_000,
} as const;

/** GetDomain looks again when the last check is older than this. A never-checked domain ages from its registration. */
export function isStale(domain: { lastCheckedAt: Date | null; createdAt: Date }, now: Date): boolean {
  return now.getTime() - (domain.lastCheckedAt ?? domain.createdAt).getTime() > checkTimes.staleAfterMs;
}

/**
 * When the background looks again: 5, 10, 20, 40, then 60 minutes while not ready, 6 hours when ready.
 * `checksInStatus` counts the checks since the status last changed; `jitter` from 0 to 1 spreads the load by ±10 %.
 */
export function nextCheckAt(input: { status: string; checksInStatus: number; now: Date; jitter: number }): Date {
  const base =
    input.status === "ready"
      ? checkTimes.readyMs
      : Math.min(checkTimes.longestMs, checkTimes.firstMs * 2 ** Math.min(Math.max(input.checksInStatus - 1, 0), 10));
  return new Date(input.now.getTime() + Math.round(base * (0.9 + 0.2 * input.jitter)));
}

/** VerifyDomain makes one fresh look-up of its own per interval: undefined when it may, else the time it may again. */
export function verifyAllowedAt(lastVerifyAt: Date | null, now: Date, intervalMs: number): Date | undefined {
  if (lastVerifyAt === null) return undefined;
  const allowed = new Date(lastVerifyAt.getTime() + intervalMs);
  return allowed > now ? allowed : undefined;
}
