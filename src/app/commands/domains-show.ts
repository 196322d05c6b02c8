/** Domains as posthorn domains prints them: the records as a table to copy from, and what to do next. */
import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { expectedRecords, type RecordPurpose } from "../../domains/rules/records.ts";
import type { DomainRow } from "../../domains/store/domains.ts";
import { domainOnWire } from "../../domains/wire.ts";
import { DomainSchema } from "../../gen/v1/domain_pb.ts";
import { servesLocally } from "../assemble/domains.ts";
import type { Config } from "../config.ts";
import { fittedTable, plain, table } from "../output.ts";
import { constantText } from "./listing.ts";

type WireRecord = {
  type: string;
  name: string;
  value: string;
  priority?: number;
  recordType: string;
  status: string;
  discoveredValue?: string;
  problem?: string;
};
/** A domain as in the API's JSON. */
export type WireDomain = JsonObject & {
  id: string;
  domain: string;
  status: string;
  lastCheckedAt?: string;
  summary: { message: string; canSend: boolean; canReceive: boolean };
  records: {
    dkimRecords: WireRecord[];
    spfRecord?: WireRecord;
    dmarcRecord?: WireRecord;
    mxRecords: WireRecord[];
    mailFromRecords: WireRecord[];
    tlsReportRecord?: WireRecord;
  };
};

/** The domain as the API returns it. */
export function domainJson(row: DomainRow, config: Config): WireDomain {
  const { zone, publicUrl } = config;
  const onWire = domainOnWire(row, { zone, publicUrl, localDns: servesLocally(config, row.domain) });
  return toJson(DomainSchema, create(DomainSchema, onWire), { alwaysEmitImplicit: true }) as unknown as WireDomain;
}

export function showDomain(domain: WireDomain): string {
  const { dkimRecords, spfRecord, dmarcRecord, mxRecords, mailFromRecords, tlsReportRecord } = domain.records;
  const records = [...dkimRecords, spfRecord, dmarcRecord, ...mxRecords, ...mailFromRecords, tlsReportRecord].filter(
    (record) => record !== undefined,
  );
  const rows = records.map(({ status, recordType, type, name, priority, value }) => [
    statusOf(status),
    needOf(recordType),
    type,
    name,
    priority === undefined ? "" : String(priority),
    value,
  ]);
  const notes = records
    .filter(({ problem, status }) => problem && !["MISSING", "PENDING"].includes(statusOf(status)))
    .flatMap(({ type, name, problem, discoveredValue }) => [
      `  ${plain(`${type} ${name}: ${problem}`)}`,
      ...(discoveredValue ? [`    found: ${plain(discoveredValue)}`] : []),
    ]);
  const { message, canSend, canReceive } = domain.summary;
  const checked = domain.lastCheckedAt ? `checked ${dateOf(domain.lastCheckedAt)}` : "not checked yet";
  const can = [canSend ? "can send" : "cannot send", canReceive ? "can receive" : "cannot receive"].join(", ");
  const status = constantText(domain.status, "DOMAIN_STATUS_").toUpperCase();
  return [
    plain(`${domain.domain}  ${status}  ${can}  (${domain.id}, ${checked})`),
    "",
    // Values are copied from this table, so nothing is cut.
    table([["STATUS", "NEED", "TYPE", "NAME", "PRIORITY", "VALUE"], ...rows], "").trimEnd(),
    ...(notes.length > 0 ? ["", ...notes] : []),
    "",
    plain(message),
    "",
  ].join("\n");
}

const statusOf = (status: string) => constantText(status, "RECORD_STATUS_").toUpperCase();

/** The need of a record is part of its purpose. */
const needs = new Map<RecordPurpose, string>(
  expectedRecords({ domain: "example.com", token: "", zone: "example.com", canReceive: true }).map(
    ({ purpose, need }) => [purpose, need],
  ),
);

function needOf(recordType: string): string {
  return needs.get(recordType.replace("RECORD_TYPE_", "") as RecordPurpose) ?? "";
}

export function showDomains(domains: readonly WireDomain[]): string {
  const rows = domains.map(({ id, status, summary, lastCheckedAt, domain }) => [
    id,
    constantText(status, "DOMAIN_STATUS_").toUpperCase(),
    summary.canSend ? "yes" : "no",
    summary.canReceive ? "yes" : "no",
    lastCheckedAt ? dateOf(lastCheckedAt) : "never",
    domain,
  ]);
  return fittedTable([["ID", "STATUS", "SEND", "RECEIVE", "CHECKED", "DOMAIN"], ...rows], []);
}

function dateOf(text: string): string {
  return new Date(text).toISOString();
}
