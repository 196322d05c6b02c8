/** Limits on what reporters store for a domain, so that one of them can neither fill the database nor displace the others. Past a limit on rows,
 * counts are kept without their address; past a limit on reports, the reporter has to retry later. store/fold.ts applies them. */
import { type DmarcRow, merge } from "../../mail/reports/dmarc-aggregate.ts";

/** On one day of service time. */
export type Used = { reports: number; newRows: number; events: number };
export type Limit = { reports: number; newRows: number };

/** Of one authenticated reporter, by its organizational domain, and of all of them together. A large provider sends some hundred reports a day to a large sender. */
export const reporterLimit: Limit = { reports: 500, newRows: 1000 };
export const domainLimit: Limit = { reports: 5000, newRows: 5000 };
/** Of all reports that are not authenticated. */
export const unauthenticatedLimit: Limit = { reports: 200, newRows: 200 };
/** Events about new sources. In the first days of a domain almost every source is new, and a report has one event. A reporter that invents
 * sources must not use up the events of the others. */
export const eventLimit = { perReport: 3, perYoungReport: 1, perReporter: 5, perDay: 10, youngDays: 3 };

/** How many events a report may lead to. */
export function eventsLeft(isYoung: boolean, used: { reporter: Used; domain: Used }): number {
  const perReport = isYoung ? eventLimit.perYoungReport : eventLimit.perReport;
  const ofDay = Math.min(eventLimit.perReporter - used.reporter.events, eventLimit.perDay - used.domain.events);
  return Math.max(0, Math.min(perReport, ofDay));
}

export function limitOf(reporter: string): Limit {
  return reporter === "" ? unauthenticatedLimit : reporterLimit;
}

/** How many new rows a report may add. */
export function rowsLeft(reporter: string, used: { reporter: Used; domain: Used }): number {
  const own = limitOf(reporter).newRows - used.reporter.newRows;
  return Math.max(0, Math.min(own, domainLimit.newRows - used.domain.newRows));
}

/** Keeps the rows that are stored already and the `left` largest of the others. The rest is counted under the empty address. */
export function withinRows(
  rows: readonly DmarcRow[],
  isStored: (row: DmarcRow) => boolean,
  left: number,
): { rows: DmarcRow[]; added: number } {
  const kept = new Map<string, DmarcRow>();
  let added = 0;
  for (const row of rows.toSorted((a, b) => b.counts.messages - a.counts.messages)) {
    const stored = row.ip === "" || isStored(row);
    if (!stored && added < left) added += 1;
    else if (!stored) {
      merge(kept, {
        ...row,
        counts: { ...row.counts },
        ip: "",
        headerFrom: "",
        dkimDomains: [],
        spfDomains: [],
        overrides: [],
      });
      continue;
    }
    merge(kept, { ...row, counts: { ...row.counts } });
  }
  return { rows: [...kept.values()], added };
}
