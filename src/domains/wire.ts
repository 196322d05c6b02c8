/** Converts domains, their DKIM keys and their links to the wire. Called by service.ts, own-keys.ts, links.ts, shared-page.ts and the command
 * line. */
import { create, type JsonValue, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type DkimKeySchema,
  type DnsRecordSchema,
  type DomainSchema,
  type DomainService,
  DomainStatus,
  RecordStatus,
  RecordType,
  SharedDomainSchema,
} from "../gen/v1/domain_pb.ts";
import type { Handlers } from "../http/call.ts";
import { keyBits } from "../mail/private-key.ts";
import { toWireId } from "../postgres/ids.ts";
import { findingOf, type ImportedKey } from "./rules/imported-keys.ts";
import { recordInstructions } from "./rules/instructions.ts";
import { providerOf } from "./rules/providers.ts";
import { expectedRecords, importedKeyRecord, nameInZone, type RecordPurpose } from "./rules/records.ts";
import { judgedRecords } from "./rules/result.ts";
import { ownKeyBits } from "./rules/signing-key.ts";
import { type JudgedRecord, summarize } from "./rules/summary.ts";
import type { OwnKey } from "./store/dkim-keys.ts";
import type { DomainRow } from "./store/domains.ts";
import type { DomainLink } from "./store/links.ts";

export type DomainHandlers = Handlers<typeof DomainService>;

/** A domain as the contract's message: every record with its status, the value found and instructions. */
export function domainOnWire(
  row: DomainRow,
  { zone, localDns, publicUrl }: { zone: string; localDns: boolean; publicUrl: string | undefined },
): MessageInitShape<typeof DomainSchema> {
  const records = judgedRecords(expectedRecords({ ...row, zone, publicUrl }), row.records);
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
      tlsReportRecord: of("TLS_REPORT")[0],
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

/** What a link shows, as the JSON of the contract's message. `keyRecords` are those of imported keys. */
export function sharedDomainJson(
  { row, expiresAt, keyRecords }: { row: DomainRow; expiresAt: Date; keyRecords: readonly JudgedRecord[] },
  own: { zone: string; publicUrl: string | undefined },
): JsonValue {
  const { domain, zone, provider, records, lastCheckedAt } = domainOnWire(row, { ...own, localDns: false });
  const shared = {
    domain,
    zone,
    provider,
    records,
    lastCheckedAt,
    importedKeyRecords: keyRecords.map(recordOnWire),
    expiresAt: timestampFromDate(expiresAt),
  };
  return toJson(SharedDomainSchema, create(SharedDomainSchema, shared), { alwaysEmitImplicit: true });
}

type WireKey = MessageInitShape<typeof DkimKeySchema>;

/** The TXT record of an imported key, with the judgment of the last check. */
export function judgedKeyRecord(row: Pick<DomainRow, "domain" | "dnsZone">, key: ImportedKey): JudgedRecord {
  return { record: importedKeyRecord(row, key), ...findingOf(key) };
}

export function importedKeyOnWire(row: DomainRow, key: ImportedKey, signing: boolean) {
  const judged = judgedKeyRecord(row, key);
  return {
    id: toWireId("dkimKey", key.id),
    selector: key.selector,
    bits: key.bits,
    primes: key.primes,
    imported: true,
    signing,
    status: recordStatusOnWire[judged.status],
    portable: key.primes === 2,
    createdAt: timestampFromDate(key.createdAt),
    lastSignedAt: key.lastSignedAt ? timestampFromDate(key.lastSignedAt) : undefined,
    record: recordOnWire(judged),
    note:
      key.bits < keyBits.advised
        ? `It has ${key.bits} bits: receivers accept it today, but RFC 8301 advises ${keyBits.advised}. Replace it.`
        : "",
  } satisfies WireKey;
}

export function ownKeyOnWire(row: DomainRow, key: OwnKey, signing: boolean) {
  const status = row.records.find((one) => one.key === `dkim${key.slot}`)?.status ?? "pending";
  return {
    id: toWireId("dkimKey", key.id),
    selector: key.selector,
    bits: ownKeyBits,
    primes: key.primes,
    imported: false,
    signing,
    status: recordStatusOnWire[status],
    portable: key.primes === 2,
    createdAt: timestampFromDate(key.createdAt),
    signsFrom: key.signsFrom ? timestampFromDate(key.signsFrom) : undefined,
    lastSignedAt: key.lastSignedAt ? timestampFromDate(key.lastSignedAt) : undefined,
    note: "",
  } satisfies WireKey;
}
