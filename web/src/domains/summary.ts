/** The sentence on top of a domain's page: whether it can send, and what to do next. */
import { type DnsRecord, type Domain, DomainStatus, RecordStatus } from "../../../src/gen/v1/domain_pb.ts";
import type { Tone } from "../parts/outcome.tsx";
import { purposeOf } from "./labels.ts";
import { purposeName, recordsOf } from "./record-text.ts";

export type Headline = { tone: Tone; title: string; text?: string };

export function headlineOf(domain: Domain): Headline {
  const records = recordsOf(domain).map(({ record }) => record);
  const lacking = records.filter((record) => isRequired(record) && record.status !== RecordStatus.FOUND);
  const { canSend = false, canReceive = false, nextAction } = domain.summary ?? {};
  const next = nextAction === "WAIT" ? waiting : `${fixText(lacking)}`;
  switch (domain.status) {
    case DomainStatus.READY:
      return {
        tone: "delivered",
        title: canReceive ? "Ready to send and receive mail." : "Ready to send mail.",
        text: records.some(isRecommendedAndLacking)
          ? "SPF for the domain itself is recommended but not in place."
          : undefined,
      };
    case DomainStatus.FAILED:
      return {
        tone: "bounced",
        title: "Cannot send: no DKIM record has been found for 72 hours.",
        text: `It recovers automatically once the records are published. ${next}`,
      };
    case DomainStatus.DEGRADED:
      return {
        tone: canSend ? "delayed" : "bounced",
        title: canSend
          ? "Can still send, but receivers may reject its mail."
          : "Cannot send: the DKIM records are gone.",
        text: next,
      };
    default:
      return canSend
        ? { tone: "delayed", title: "Can send already. Some records are still missing.", text: next }
        : { tone: "queued", title: "Cannot send yet. One DKIM record is enough to start.", text: next };
  }
}

const waiting =
  "The records are right at your DNS provider. Resolvers still return old answers until their TTL expires; you do not need to do anything.";

/** The zone at the provider. While it is unknown, the names of the records show which one the server assumes. */
export function zoneOf(domain: Pick<Domain, "zone" | "domain" | "records">): string {
  if (domain.zone !== "") return domain.zone;
  const record = domain.records?.dkimRecords[0];
  return record ? record.name.slice(record.nameInZone.length + 1) : domain.domain;
}

function fixText(lacking: readonly DnsRecord[]): string {
  const wrong = lacking.filter(({ status }) => status === RecordStatus.MISMATCH).map(purposeName);
  const absent = lacking.filter(({ status }) => status !== RecordStatus.MISMATCH).map(purposeName);
  return [
    ...(wrong.length > 0 ? [`Correct: ${wrong.join(", ")}.`] : []),
    ...(absent.length > 0 ? [`Add: ${absent.join(", ")}.`] : []),
  ].join(" ");
}

function isRequired({ recordType }: DnsRecord): boolean {
  return purposeOf(recordType).need === "required";
}

function isRecommendedAndLacking({ recordType, status }: DnsRecord): boolean {
  return purposeOf(recordType).need === "recommended" && status !== RecordStatus.FOUND;
}
