/** Labels for the states of domains and for the purposes of DNS records. */
import { DomainStatus, RecordType } from "../../../src/gen/v1/domain_pb.ts";
import type { Tone } from "../parts/outcome.tsx";

export type DomainLabel = { text: string; tone: Tone; meaning?: string };

const domainLabels: Partial<Record<DomainStatus, DomainLabel>> = {
  [DomainStatus.PENDING]: {
    text: "Pending",
    tone: "queued",
    meaning: "None of the required records has been found yet.",
  },
  [DomainStatus.VERIFYING]: {
    text: "Verifying",
    tone: "delayed",
    meaning: "Some of the required records are in place.",
  },
  [DomainStatus.READY]: {
    text: "Ready",
    tone: "delivered",
    meaning: "All required records are in place.",
  },
  [DomainStatus.DEGRADED]: {
    text: "Degraded",
    tone: "delayed",
    meaning: "A required record is missing.",
  },
  [DomainStatus.FAILED]: {
    text: "Failed",
    tone: "bounced",
    meaning: "No DKIM record was found for 72 hours.",
  },
};

export function domainLabel(status: DomainStatus): DomainLabel {
  return domainLabels[status] ?? { text: `Status ${status}`, tone: "queued" };
}

export interface Purpose {
  name: string;
  need: "required" | "recommended" | "optional" | "only to receive mail";
  why: string;
}

const purposes: Partial<Record<RecordType, Purpose>> = {
  [RecordType.DKIM]: {
    name: "DKIM key",
    need: "required",
    why: "Receivers use it to verify the signature of your mail.",
  },
  [RecordType.SPF]: { name: "SPF", need: "recommended", why: "Lists the servers that may send for the domain." },
  [RecordType.DMARC]: {
    name: "DMARC",
    need: "required",
    why: "Defines what receivers do with mail that fails SPF and DKIM.",
  },
  [RecordType.MX_INBOUND]: {
    name: "Inbound mail",
    need: "only to receive mail",
    why: "Routes mail for the domain to Posthorn.",
  },
  [RecordType.MAIL_FROM_MX]: { name: "Bounces", need: "required", why: "Routes bounces to Posthorn." },
  [RecordType.MAIL_FROM_SPF]: {
    name: "SPF for bounces",
    need: "required",
    why: "The SPF record that receivers check.",
  },
  [RecordType.TLS_REPORT]: {
    name: "TLS reports",
    need: "optional",
    why: "Senders then report when they cannot reach the domain with TLS.",
  },
};

export function purposeOf(type: RecordType): Purpose {
  return purposes[type] ?? { name: "Record", need: "recommended", why: "" };
}
