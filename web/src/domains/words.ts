/** The states of domains and records, and what records are for, in the words of the dashboard. */
import { DomainStatus, RecordStatus, RecordType } from "../../../src/gen/v1/domain_pb.ts";
import type { Word } from "../parts/mark.tsx";

const domainWords: Partial<Record<DomainStatus, Word>> = {
  [DomainStatus.PENDING]: { word: "Pending", color: "gray", meaning: "None of the needed records has been found yet." },
  [DomainStatus.VERIFYING]: { word: "Verifying", color: "blue", meaning: "Some of the needed records are in place." },
  [DomainStatus.READY]: { word: "Ready", color: "green", meaning: "All needed records are in place." },
  [DomainStatus.DEGRADED]: { word: "Degraded", color: "orange", meaning: "A needed record is missing." },
  [DomainStatus.FAILED]: { word: "Failed", color: "red", meaning: "No DKIM record was found for 72 hours." },
};

export function domainWord(status: DomainStatus): Word {
  return domainWords[status] ?? { word: `Status ${status}`, color: "gray" };
}

const recordWords: Partial<Record<RecordStatus, Word>> = {
  [RecordStatus.PENDING]: { word: "Not checked", color: "gray" },
  [RecordStatus.FOUND]: { word: "Found", color: "green" },
  [RecordStatus.MISMATCH]: { word: "Wrong value", color: "red" },
  [RecordStatus.MISSING]: { word: "Missing", color: "orange" },
};

export function recordWord(status: RecordStatus): Word {
  return recordWords[status] ?? { word: `Status ${status}`, color: "gray" };
}

export interface Purpose {
  name: string;
  /** How much depends on it. */
  need: "needed" | "recommended" | "to receive";
  why: string;
}

const purposes: Partial<Record<RecordType, Purpose>> = {
  [RecordType.DKIM]: { name: "DKIM key", need: "needed", why: "Lets receivers check that mail is signed by you." },
  [RecordType.SPF]: { name: "SPF", need: "recommended", why: "Says which servers may send for the domain." },
  [RecordType.DMARC]: { name: "DMARC", need: "needed", why: "Tells receivers what to do with mail that fails both." },
  [RecordType.MX_INBOUND]: { name: "Inbound MX", need: "to receive", why: "Brings mail for the domain to Posthorn." },
  [RecordType.MAIL_FROM_MX]: { name: "MAIL FROM MX", need: "needed", why: "Brings bounces back." },
  [RecordType.MAIL_FROM_SPF]: { name: "MAIL FROM SPF", need: "needed", why: "The SPF record that receivers judge." },
};

export function purposeOf(type: RecordType): Purpose {
  return purposes[type] ?? { name: "Record", need: "recommended", why: "" };
}
