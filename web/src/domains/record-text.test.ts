import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { DnsRecordSchema, DomainRecordsSchema, RecordStatus, RecordType } from "../../../src/gen/v1/domain_pb.ts";
import { countRecords, purposeName, recordMark, recordRemark, recordsOf, valueToPublish } from "./record-text.ts";

type Input = Parameters<typeof create<typeof DnsRecordSchema>>[1];
const record = (input: Input) => create(DnsRecordSchema, input);

test("an inbound MX elsewhere is neutral, and the remark warns against changing it", () => {
  const mx = record({
    recordType: RecordType.MX_INBOUND,
    status: RecordStatus.MISMATCH,
    name: "contoso.test",
    discoveredValue: "10 mx.office.test",
    problem: "mail for contoso.test goes to another host",
  });
  assert.deepEqual(recordMark(mx), { text: "Elsewhere", tone: "canceled" });
  const remark = recordRemark(mx);
  assert.equal(remark?.found, "10 mx.office.test");
  assert.match(remark!.text, /^Mail for contoso\.test goes to another host\. .*redirect all mail to contoso\.test\.$/);
  assert.equal(recordMark(record({ ...mx, status: RecordStatus.MISSING })).text, "Optional");
  assert.equal(recordMark(record({ recordType: RecordType.DKIM, status: RecordStatus.MISMATCH })).tone, "bounced");
});

test("a record that is simply absent has no remark; one that is elsewhere has", () => {
  const missing = { recordType: RecordType.DKIM, status: RecordStatus.MISSING };
  assert.equal(recordRemark(record({ ...missing, problem: "nothing is published there yet" })), undefined);
  assert.deepEqual(recordRemark(record({ ...missing, problem: "it was found at x.test" })), {
    found: "",
    text: "It was found at x.test.",
  });
});

test("the merged SPF record is the value to publish, and the remark says why", () => {
  const spf = record({
    recordType: RecordType.SPF,
    status: RecordStatus.MISMATCH,
    value: "v=spf1 include:us.test ~all",
    discoveredValue: "v=spf1 a -all",
    mergedValue: "v=spf1 a include:us.test -all",
    problem: "the SPF record does not authorize this service",
  });
  assert.equal(valueToPublish(spf), "v=spf1 a include:us.test -all");
  assert.deepEqual(recordRemark(spf)?.found, "v=spf1 a -all");
  assert.match(recordRemark(spf)!.text, /does not authorize this service\. Replace it with the merged value above/);
  assert.equal(valueToPublish(record({ value: "x" })), "x");
});

test("the optional record does not count, and the two DKIM keys have numbers", () => {
  const records = [
    record({ recordType: RecordType.DKIM, nameShort: "ph1._domainkey", status: RecordStatus.FOUND }),
    record({ recordType: RecordType.DKIM, nameShort: "ph2._domainkey", status: RecordStatus.MISSING }),
    record({ recordType: RecordType.MX_INBOUND, nameShort: "@", status: RecordStatus.MISMATCH }),
  ];
  assert.deepEqual(countRecords(records), { found: 1, total: 2 });
  assert.deepEqual(records.map(purposeName), ["DKIM key 1", "DKIM key 2", "Inbound mail"]);
});

test("the record for TLS reports is optional: it does not count, and another value there is not a fault", () => {
  const tls = record({
    recordType: RecordType.TLS_REPORT,
    nameShort: "_smtp._tls",
    status: RecordStatus.MISSING,
    value: "v=TLSRPTv1; rua=mailto:us@posthorn.test",
    problem: "nothing is published there yet",
  });
  assert.deepEqual([recordMark(tls).text, recordRemark(tls), purposeName(tls)], ["Optional", undefined, "TLS reports"]);
  assert.deepEqual(countRecords([tls]), { found: 0, total: 0 });
  const elsewhere = record({
    ...tls,
    status: RecordStatus.MISMATCH,
    discoveredValue: "v=TLSRPTv1; rua=mailto:them@there.test",
    mergedValue: "v=TLSRPTv1; rua=mailto:them@there.test,mailto:us@posthorn.test",
    problem: "the reports go elsewhere",
  });
  assert.deepEqual(recordMark(elsewhere), { text: "Elsewhere", tone: "canceled" });
  assert.match(recordRemark(elsewhere)!.text, /^The reports go elsewhere\. Replace it with the merged value above/);
  assert.deepEqual(
    recordsOf({ records: create(DomainRecordsSchema, { tlsReportRecord: tls }) }).map(({ record }) => record.nameShort),
    ["_smtp._tls"],
  );
});
