/** Converts domains to the wire. Called by service.ts, links.ts, shared-page.ts and the command line. */
import { create, type JsonValue, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type DnsRecordSchema,
  type DomainSchema,
  type DomainService,
  DomainStatus,
  RecordStatus,
  RecordType,
  SharedDomainSchema,
} from "../gen/v1/domain_pb.ts";
import type { Handlers } from "../http/call.ts";
import { toWireId } from "../postgres/ids.ts";
import { recordInstructions } from "./rules/instructions.ts";
import { providerOf } from "./rules/providers.ts";
import { expectedRecords, nameInZone, type RecordPurpose } from "./rules/records.ts";
import { judgedRecords } from "./rules/result.ts";
import { type JudgedRecord, summarize } from "./rules/summary.ts";
import type { DomainRow } from "./store/domains.ts";
import type { DomainLink } from "./store/links.ts";

export type DomainHandlers = Handlers<typeof DomainService>;

/** A domain as the contract's message: every record with its status, the value found and instructions. */
export function domainOnWire(
  row: DomainRow,
  { zone, localDns }: { zone: string; localDns: boolean },
): MessageInitShape<typeof DomainSchema> {
  const records = judgedRecords(expectedRecords({ ...row, zone }), row.records);
  const of = (...purposes: RecordPurpose[]) =>
    records.filter(({ record }) => purposes.includes(record.purpose)).map(recordOnWire);
  return {
    id: toWireId("domain", row.id),
    domain: row.domain,
    status: domainStatusOnWire[row.status],
    region: row.region,
    createdAt: timestampFromDate(row.createdAt),
    updatedAt: timestampFromDate(row.updatedAt),
    lastCheckedAt: row.lastCheckedAt ? timestampFromDate(row.lastCheckedAt) : undefined,
    summary: { ...summarize(row.domain, row.status, records), canSend: row.canSend, canReceive: row.canReceive },
    records: {
      dkimRecords: of("DKIM"),
      spfRecord: of("SPF")[0],
      dmarcRecord: of("DMARC")[0],
      mxRecords: of("MX_INBOUND"),
      mailFromRecords: of("MAIL_FROM_MX", "MAIL_FROM_SPF"),
    },
    localDns,
    zone: row.dnsZone ?? "",
    provider: providerOf(row.dnsZone ?? "", row.nameServers),
  };
}

export const domainStatusOnWire = {
  pending: DomainStatus.PENDING,
  verifying: DomainStatus.VERIFYING,
  ready: DomainStatus.READY,
  degraded: DomainStatus.DEGRADED,
  failed: DomainStatus.FAILED,
} as const;

const recordStatusOnWire = {
  pending: RecordStatus.PENDING,
  found: RecordStatus.FOUND,
  mismatch: RecordStatus.MISMATCH,
  missing: RecordStatus.MISSING,
} as const;

function recordOnWire({ record, ...found }: JudgedRecord): MessageInitShape<typeof DnsRecordSchema> {
  return {
    type: record.type,
    name: record.name,
    value: record.value,
    priority: record.priority,
    recordType: RecordType[record.purpose],
    status: recordStatusOnWire[found.status],
    nameShort: record.nameShort,
    discoveredValue: found.discoveredValue,
    instructions: recordInstructions(record, found),
    nameInZone: nameInZone(record),
    mergedValue: found.status === "mismatch" ? (found.mergedValue ?? "") : "",
    problem: found.note,
  };
}

/** A link, without its secret. */
export function linkOnWire(link: DomainLink) {
  return {
    id: toWireId("link", link.id),
    domainId: toWireId("domain", link.domainId),
    createdAt: timestampFromDate(link.createdAt),
    expiresAt: timestampFromDate(link.expiresAt),
    lastViewedAt: link.lastViewedAt ? timestampFromDate(link.lastViewedAt) : undefined,
  };
}

/** What a link shows, as the JSON of the contract's message. */
export function sharedDomainJson({ row, expiresAt }: { row: DomainRow; expiresAt: Date }, ownZone: string): JsonValue {
  const { domain, zone, provider, records, lastCheckedAt } = domainOnWire(row, { zone: ownZone, localDns: false });
  const shared = { domain, zone, provider, records, lastCheckedAt, expiresAt: timestampFromDate(expiresAt) };
  return toJson(SharedDomainSchema, create(SharedDomainSchema, shared), { alwaysEmitImplicit: true });
}
