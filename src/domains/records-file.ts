/**
 * The records of one domain as a zone file (RFC 1035 §5) to import at its DNS provider. An import adds records, so only
 * those that do no harm when added are active. All others are comments that say what to do. Called by service.ts.
 */
import { publishedRecords } from "./publish.ts";
import type { ExpectedRecord } from "./rules/records.ts";
import type { JudgedRecord } from "./rules/summary.ts";
import { zoneFileLine } from "./zone-file.ts";

export function recordsFile(domain: string, records: readonly JudgedRecord[]): { name: string; content: string } {
  const zone = records[0]?.record.dnsZone ?? domain;
  const lines = [
    `; The DNS records of ${domain}, to import into the zone ${zone}.`,
    `$ORIGIN ${zone}.`,
    "",
    ...records.map(entry),
  ];
  return { name: `${domain}.zone`, content: `${lines.join("\n").trimEnd()}\n` };
}

function entry(one: JudgedRecord): string {
  const { record, status } = one;
  const line = lineOf(record);
  if (status === "found") return isAsExpected(one) ? line : `; In place in another form:\n; ${line}`;
  const isReport = record.purpose === "TLS_REPORT";
  if (status === "mismatch" && (record.need !== "optional" || isReport)) {
    const isPlain = one.mergedValue === undefined || isReport;
    const action = isPlain ? "Replace the existing record with" : "Replace all SPF records with";
    return `; ${action}:\n; ${lineOf({ ...record, value: one.mergedValue ?? record.value })}`;
  }
  if (record.need === "optional" && !isReport)
    return `; Only to receive mail here: this record redirects all mail to ${record.name}. Remove the semicolon to add it.\n; ${line}`;
  if (record.purpose === "SPF")
    return `; A name may have one SPF record: if ${record.name} has one, merge them.\n${line}`;
  return line;
}

function lineOf(record: ExpectedRecord): string {
  return publishedRecords([record]).map(zoneFileLine).join("").trimEnd();
}

function isAsExpected({ record, discoveredValue }: JudgedRecord): boolean {
  const { priority, value } = record;
  return discoveredValue === (priority === undefined ? value : `${priority} ${value}`);
}
