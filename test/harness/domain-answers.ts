/** Types of domains in API responses, and short forms of them for assertions. */
import assert from "node:assert/strict";
import type { Answer } from "./program.ts";

export const zone = "mail.posthorn.test";

export type WireRecord = {
  type: string;
  name: string;
  value: string;
  priority?: number;
  recordType: string;
  status: string;
  nameShort: string;
  discoveredValue: string;
  instructions: string;
  nameInZone: string;
  mergedValue: string;
  problem: string;
};

export type WireDomain = {
  id: string;
  domain: string;
  status: string;
  region: string;
  createdAt: string;
  updatedAt: string;
  lastCheckedAt?: string;
  zone: string;
  provider?: { id: string; name: string; dnsUrl: string; quirks: string[] };
  summary: {
    message: string;
    nextAction: string;
    recordsPending: number;
    recordsConfigured: number;
    canSend: boolean;
    canReceive: boolean;
  };
  records: {
    dkimRecords: WireRecord[];
    spfRecord: WireRecord;
    dmarcRecord: WireRecord;
    mxRecords: WireRecord[];
    mailFromRecords: WireRecord[];
  };
};

export function domainOf({ status, body }: Answer): WireDomain {
  assert.equal(status, 200, JSON.stringify(body));
  return body.domain as WireDomain;
}

/** All records in the order in which the dashboard shows them. */
export function recordsOf({ records }: WireDomain): WireRecord[] {
  const { dkimRecords, spfRecord, dmarcRecord, mxRecords, mailFromRecords } = records;
  return [...dkimRecords, spfRecord, dmarcRecord, ...mxRecords, ...mailFromRecords];
}

export type RecordName = "dkim1" | "dkim2" | "spf" | "dmarc" | "mx" | "mailFromMx" | "mailFromSpf";

export function recordOf(domain: WireDomain, name: RecordName): WireRecord {
  const names: RecordName[] = ["dkim1", "dkim2", "spf", "dmarc", "mx", "mailFromMx", "mailFromSpf"];
  return recordsOf(domain)[names.indexOf(name)] ?? assert.fail(name);
}

/** The statuses of all records in the order of `recordsOf`, without their prefix. */
export function statusesOf(domain: WireDomain): string {
  return recordsOf(domain)
    .map(({ status }) => status.replace("RECORD_STATUS_", ""))
    .join(" ");
}
