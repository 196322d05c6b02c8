/** Chooses the new sources of a report that get an event, and writes its payload. Called by store/fold.ts. */
import type { DmarcRow } from "../../mail/reports/dmarc-aggregate.ts";

/** The largest row of an address with messages that failed DMARC, and the number of all of them. */
export type FailingSource = { ip: string; failed: number; row: DmarcRow };

/** The largest first. Addresses past a limit have no row of their own, and no event. */
export function failingSources(rows: readonly DmarcRow[]): FailingSource[] {
  const sources = new Map<string, FailingSource>();
  for (const row of rows) {
    const failed = failedOf(row);
    if (row.ip === "" || failed === 0) continue;
    const known = sources.get(row.ip);
    if (!known) sources.set(row.ip, { ip: row.ip, failed, row });
    else
      sources.set(row.ip, {
        ip: row.ip,
        failed: known.failed + failed,
        row: failedOf(known.row) >= failed ? known.row : row,
      });
  }
  return [...sources.values()].sort((a, b) => b.failed - a.failed || (a.ip < b.ip ? -1 : 1));
}

export type SourceEvent = {
  domainId: string;
  domain: string;
  ip: string;
  own: boolean;
  headerFrom: string;
  messages: number;
  reporter: string;
  organization: string;
  reportId: string;
  dkimDomains: string[];
  spfDomains: string[];
  disposition: string;
  moreSources: number;
};

export type EventAbout = Pick<SourceEvent, "domainId" | "domain" | "reporter" | "organization" | "reportId">;

/** At most `most` events. The last one has the number of sources without an event. */
export function sourceEvents(
  sources: readonly FailingSource[],
  most: number,
  about: EventAbout,
  isOwn: (ip: string) => boolean,
): SourceEvent[] {
  return sources.slice(0, most).map(({ ip, failed, row }, index) => ({
    ...about,
    ip,
    own: isOwn(ip),
    headerFrom: row.headerFrom,
    messages: failed,
    dkimDomains: row.dkimDomains,
    spfDomains: row.spfDomains,
    disposition: dispositionOf(row),
    moreSources: index === most - 1 ? sources.length - most : 0,
  }));
}

function failedOf({ counts }: DmarcRow): number {
  return counts.messages - counts.aligned;
}

function dispositionOf({ counts: { delivered, quarantined, rejected } }: DmarcRow): string {
  if (rejected > delivered && rejected >= quarantined) return "rejected";
  return quarantined > delivered ? "quarantined" : "delivered";
}
