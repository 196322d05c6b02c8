/** What the table of records says about one record: its mark, the value to copy, and the remark underneath. */
import { type DnsRecord, type Domain, RecordStatus, RecordType } from "../../../src/gen/v1/domain_pb.ts";
import type { Tone } from "../parts/outcome.tsx";
import { purposeOf } from "./labels.ts";

export type RecordMark = { text: string; tone: Tone };

const marks: Partial<Record<RecordStatus, RecordMark>> = {
  [RecordStatus.PENDING]: { text: "Not checked", tone: "queued" },
  [RecordStatus.FOUND]: { text: "Found", tone: "delivered" },
  [RecordStatus.MISMATCH]: { text: "Wrong value", tone: "bounced" },
  [RecordStatus.MISSING]: { text: "Missing", tone: "delayed" },
};

/** An optional record that is absent, or that serves another purpose, is not a fault. */
export function recordMark({ status, recordType }: DnsRecord): RecordMark {
  const isOptional = isOptionalType(recordType);
  if (isOptional && status === RecordStatus.MISMATCH) return { text: "Elsewhere", tone: "canceled" };
  if (isOptional && status === RecordStatus.MISSING) return { text: "Optional", tone: "canceled" };
  return marks[status] ?? { text: `Status ${status}`, tone: "queued" };
}

/** A domain is complete without these. */
function isOptionalType(type: RecordType): boolean {
  return type === RecordType.MX_INBOUND || type === RecordType.TLS_REPORT;
}

/** With its number, if the domain has several records of the purpose, or with the selector of an imported key. */
export function purposeName({ recordType, nameShort }: DnsRecord): string {
  const [, slot, selector] = /^(?:ph([12])|(.+))\._domainkey$/.exec(nameShort) ?? [];
  return [purposeOf(recordType).name, slot ?? selector].filter(Boolean).join(" ");
}

/** The value to publish: the merged one, if the name has SPF records already. */
export function valueToPublish({ mergedValue, value }: DnsRecord): string {
  return mergedValue || value;
}

/** Undefined: there is nothing to say. `found` is the value in DNS. */
export function recordRemark(record: DnsRecord): { found: string; text: string } | undefined {
  const { status, discoveredValue, problem, mergedValue } = record;
  const found = status !== RecordStatus.MISSING && discoveredValue !== record.value ? discoveredValue : "";
  if (record.recordType === RecordType.MX_INBOUND) return inboundRemark(record);
  if (status === RecordStatus.MISMATCH)
    return {
      found,
      text:
        mergedValue && mergedValue !== record.value
          ? `${sentence(problem)} Replace it with the merged value above.`
          : sentence(problem),
    };
  if (status === RecordStatus.MISSING && problem === nothingYet) return undefined;
  if (problem === "") return undefined;
  return { found, text: sentence(problem) };
}

function inboundRemark({ status, discoveredValue, name, problem }: DnsRecord) {
  if (status === RecordStatus.FOUND) return undefined;
  if (status === RecordStatus.MISMATCH)
    return {
      found: discoveredValue,
      text: `${sentence(problem)} Leave it as it is, unless Posthorn should receive this mail: changing it would redirect all mail to ${name}.`,
    };
  return {
    found: "",
    text: `Only to receive mail with Posthorn. Do not add it if people have mailboxes at ${name}: it redirects all of their mail.`,
  };
}

/** The server's remark about a record that is simply absent. The mark says it already. */
const nothingYet = "nothing is published there yet";

function sentence(clause: string): string {
  if (clause === "") return "";
  return `${clause[0]!.toUpperCase()}${clause.slice(1)}${/[.!?]$/.test(clause) ? "" : "."}`;
}

/** The records that a domain needs, without the optional ones. */
export function countRecords(records: readonly DnsRecord[]): { found: number; total: number } {
  const needed = records.filter(({ recordType }) => !isOptionalType(recordType));
  return { found: needed.filter(({ status }) => status === RecordStatus.FOUND).length, total: needed.length };
}

/** All records of a domain, the required ones first. */
export function recordsOf({ records }: Pick<Domain, "records">): { record: DnsRecord; key: string }[] {
  if (!records) return [];
  const { dkimRecords, mailFromRecords, dmarcRecord, spfRecord, mxRecords, tlsReportRecord } = records;
  return [...dkimRecords, ...mailFromRecords, dmarcRecord, spfRecord, ...mxRecords, tlsReportRecord]
    .filter((record) => record !== undefined)
    .map((record) => ({ record, key: `${record.type} ${record.name} ${record.value}` }));
}
