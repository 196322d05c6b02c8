/** Which DNS queries a domain check sends, and when the next check is due. Called by record-view.ts, check.ts and result.ts. */

import { walkDomains } from "../../mail/dmarc-walk.ts";
import { type ExpectedRecord, nameInZone } from "./records.ts";

/** One DNS query. `part` names the field of `RecordView` that takes the answer. */
export type Query = { name: string; type: "CNAME" | "TXT" | "MX"; part: "cname" | "txt" | "mx" };

/** The queries for one record. A DKIM name may be a CNAME that points to us, or a TXT record with a copy of our key. */
export function queriesOf(record: ExpectedRecord): Query[] {
  switch (record.purpose) {
    case "DKIM":
      return [
        { name: record.name, type: "CNAME", part: "cname" },
        { name: record.name, type: "TXT", part: "txt" },
      ];
    case "SPF":
    case "MAIL_FROM_SPF":
    case "DMARC":
    case "TLS_REPORT":
      return [{ name: record.name, type: "TXT", part: "txt" }];
    case "MX_INBOUND":
    case "MAIL_FROM_MX":
      return [{ name: record.name, type: "MX", part: "mx" }];
  }
}

/** The parents of a domain whose DMARC policy may cover it (RFC 9989 §4.10). */
export function dmarcParents(domain: string): string[] {
  return walkDomains(domain).slice(1);
}

/**
 * The names that a record gets by the most common mistakes: it was entered in full and the provider appended the zone,
 * or it was entered relative to the registered domain although the zone is a parent. Only a DKIM value is unique to the
 * registration: at the parent, other values may belong to a registration of the parent.
 */
export function misplacedNames(record: ExpectedRecord): string[] {
  const { name, nameShort, domain, dnsZone } = record;
  const names = nameInZone(record) === "@" ? [] : [`${name}.${dnsZone}`];
  if (record.purpose === "DKIM" && dnsZone !== domain) names.push(`${nameShort}.${dnsZone}`);
  return names.filter((one) => one.length <= 253);
}

const minute = 60_000;
export const checkTimes = {
  staleAfterMs: 5 * minute,
  firstMs: 5 * minute,
  longestMs: 60 * minute,
  readyMs: 6 * 60 * minute,
  timeoutMs: 5_000,
} as const;

/** Whether GetDomain checks again. The age of a domain without a check counts from its registration. */
export function isStale(domain: { checkedAt: Date | null; registeredAt: Date }, now: Date): boolean {
  return now.getTime() - (domain.checkedAt ?? domain.registeredAt).getTime() > checkTimes.staleAfterMs;
}

/**
 * When the next background check is due: after 5, 10, 20, 40, then 60 minutes while not ready, after 6 hours when ready.
 * `checksInStatus` counts the checks since the status last changed. `jitter`, from 0 to 1, spreads the load by ±10 %.
 */
export function nextCheckAt(input: { status: string; checksInStatus: number; now: Date; jitter: number }): Date {
  const base =
    input.status === "ready"
      ? checkTimes.readyMs
      : Math.min(checkTimes.longestMs, checkTimes.firstMs * 2 ** Math.min(Math.max(input.checksInStatus - 1, 0), 10));
  return new Date(input.now.getTime() + Math.round(base * (0.9 + 0.2 * input.jitter)));
}
