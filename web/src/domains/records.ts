/** All records of a domain in the order in which people publish them: what is needed first. */
import type { DnsRecord, Domain } from "../../../src/gen/v1/domain_pb.ts";

export function recordsOf({ records }: Domain): { record: DnsRecord; key: string }[] {
  if (!records) return [];
  const { dkimRecords, mailFromRecords, dmarcRecord, spfRecord, mxRecords } = records;
  return [...dkimRecords, ...mailFromRecords, dmarcRecord, spfRecord, ...mxRecords]
    .filter((record) => record !== undefined)
    .map((record) => ({ record, key: `${record.type} ${record.name} ${record.value}` }));
}
