/** Counts of messages in DMARC reports and of sessions in TLS reports, and their sums. Used throughout reports/. */

import type { DmarcCounts } from "../../mail/reports/dmarc-aggregate.ts";

export type { DmarcCounts };

export type TlsCounts = { succeeded: number; failed: number };

export const noMessages: DmarcCounts = {
  messages: 0,
  aligned: 0,
  dkimAligned: 0,
  spfAligned: 0,
  delivered: 0,
  quarantined: 0,
  rejected: 0,
};

export const noSessions: TlsCounts = { succeeded: 0, failed: 0 };

export function addCounts<Counts extends Record<string, number>>(a: Counts, b: Counts): Counts {
  return Object.fromEntries(Object.keys(a).map((name) => [name, a[name]! + (b[name] ?? 0)])) as Counts;
}
