/** Domains as posthorn domains prints them: the records as a table to copy from, and what to do next. */
import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
import { recordsFile } from "../../domains/records-file.ts";
import { expectedRecords } from "../../domains/rules/records.ts";
import { judgedRecords } from "../../domains/rules/result.ts";
import { summarize } from "../../domains/rules/summary.ts";
import type { DomainRow } from "../../domains/store/domains.ts";
import { domainOnWire } from "../../domains/wire.ts";
import { DomainSchema } from "../../gen/v1/domain_pb.ts";
import { toWireId } from "../../postgres/ids.ts";
import { servesLocally } from "../assemble/domains.ts";
import { table } from "../command.ts";
import type { Config } from "../config.ts";

/** The domain as the API returns it. */
export function domainJson(row: DomainRow, config: Config): JsonValue {
  const onWire = domainOnWire(row, { zone: config.zone, localDns: servesLocally(config, row.domain) });
  return toJson(DomainSchema, create(DomainSchema, onWire), { alwaysEmitImplicit: true });
}

export function showDomain(row: DomainRow, zone: string): string {
  const records = judgedRecords(expectedRecords({ ...row, zone }), row.records);
  const { message, canSend, canReceive } = summarize(row.domain, row.status, records);
  const rows = records.map(({ record, status }) => [
    status.toUpperCase(),
    record.need,
    record.type,
    record.name,
    record.priority === undefined ? "" : String(record.priority),
    record.value,
  ]);
  const notes = records
    .filter(({ note, status }) => note !== "" && status !== "missing" && status !== "pending")
    .map(({ record, note, discoveredValue }) =>
      [`  ${record.type} ${record.name}: ${note}`, ...(discoveredValue ? [`    found: ${discoveredValue}`] : [])].join(
        "\n",
      ),
    );
  const checked = row.lastCheckedAt ? `checked ${row.lastCheckedAt.toISOString()}` : "not checked yet";
  const can = [canSend ? "can send" : "cannot send", canReceive ? "can receive" : "cannot receive"].join(", ");
  return [
    `${row.domain}  ${row.status.toUpperCase()}  ${can}  (${toWireId("domain", row.id)}, ${checked})`,
    "",
    table([["STATUS", "NEED", "TYPE", "NAME", "PRIORITY", "VALUE"], ...rows], "").trimEnd(),
    ...(notes.length > 0 ? ["", ...notes] : []),
    "",
    message,
    "",
  ].join("\n");
}

/** The records as a zone file, which many DNS providers import. */
export function showZoneFile(row: DomainRow, zone: string): string {
  return recordsFile(row.domain, judgedRecords(expectedRecords({ ...row, zone }), row.records)).content;
}

export function showDomains(rows: readonly DomainRow[]): string {
  return table(
    [
      ["ID", "STATUS", "SEND", "RECEIVE", "CHECKED", "DOMAIN"],
      ...rows.map((row) => [
        toWireId("domain", row.id),
        row.status.toUpperCase(),
        row.canSend ? "yes" : "no",
        row.canReceive ? "yes" : "no",
        row.lastCheckedAt?.toISOString() ?? "never",
        row.domain,
      ]),
    ],
    "",
  );
}
