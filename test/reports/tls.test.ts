/** TLS reports by HTTPS, which anyone can write, and by mail. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { addReporter, deliverReport, dmarcXml, domainIdOf, reportAddressOf, tlsJson } from "../harness/reports.ts";

let testbed: InboundTestbed;
let address: string;
let domainId: string;
let url: string;
before(async () => {
  testbed = await startInboundTestbed({ env: { POSTHORN_PUBLIC_URL: "https://mail.posthorn.test" } });
  addReporter(testbed.dns, "reporter.test");
  address = await reportAddressOf(testbed);
  domainId = await domainIdOf(testbed);
  url = `${testbed.program.url}/tls-reports/${address.split("@")[0]}`;
});
after(async () => await testbed.stop());

async function post(body: Buffer | string, headers: Record<string, string> = {}, to = url) {
  const response = await fetch(to, {
    method: "POST",
    headers: { "content-type": "application/tlsrpt+gzip", ...headers },
    body: Buffer.from(body),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

async function summary() {
  const { status, body } = await testbed.call("ReportService/GetTlsSummary", { domainId });
  assert.equal(status, 200, JSON.stringify(body));
  return body as unknown as {
    total: object;
    unauthenticated: object;
    failures: Record<string, unknown>[];
    recordName: string;
    recordValue: string;
    lastReportAt?: string;
  };
}

test("the record to publish has both addresses", async () => {
  const { recordName, recordValue } = await summary();
  const token = address.split("@")[0];
  assert.equal(recordName, "_smtp._tls.sender.test");
  assert.equal(recordValue, `v=TLSRPTv1; rua=mailto:${address},https://mail.posthorn.test/tls-reports/${token}`);
  const { body } = await testbed.call("DomainService/GetDomain", { id: domainId });
  const { records } = body.domain as { records: { tlsReportRecord?: { value: string; recordType: string } } };
  assert.equal(records.tlsReportRecord?.value, recordValue);
  assert.equal(records.tlsReportRecord?.recordType, "RECORD_TYPE_TLS_REPORT");
});

test("a report by HTTPS is stored, counted apart, and stored once", async () => {
  for (let time = 0; time < 2; time++) assert.equal((await post(gzipSync(tlsJson({ id: "https" })))).status, 201);
  const plain = await post(tlsJson({ id: "plain", failed: 1 }), {
    "content-type": "application/tlsrpt+json; charset=utf-8",
  });
  assert.equal(plain.status, 201, plain.text);
  const { total, unauthenticated, failures, lastReportAt } = await summary();
  assert.deepEqual(total, { succeeded: 0, failed: 0 });
  assert.deepEqual(unauthenticated, { succeeded: 20, failed: 3 });
  assert.ok(lastReportAt);
  const [failure] = failures;
  assert.deepEqual([failure!.resultType, failure!.sessions, failure!.authenticated], ["certificate-expired", 3, false]);
  assert.match(failure!.explanation as string, /expired/);
  const { body } = await testbed.call("ReportService/ListReports", { domainId, kind: "REPORT_KIND_TLS" });
  const [report] = body.data as Record<string, unknown>[];
  assert.deepEqual([report!.via, report!.authenticatedDomain, report!.organization], ["https", "", "Sender Inc."]);
  assert.deepEqual(await testbed.events(), [], "no event");
});

test("a report by mail of an authenticated sender counts as such", async () => {
  assert.match(await deliverReport(testbed, { text: tlsJson({ id: "mail" }), to: address }), /^250/);
  const { total, failures } = await summary();
  assert.deepEqual(total, { succeeded: 10, failed: 2 });
  assert.deepEqual([failures[0]!.authenticated, failures[0]!.sessions], [true, 2]);
});

const refusals: [name: string, status: number, reason: RegExp, request: () => ReturnType<typeof post>][] = [
  ["an unknown token", 404, /no report address/, () => post("x", {}, url.replace(/.{20}$/, "a".repeat(20)))],
  ["a token of another form", 404, /no report address/, () => post("x", {}, `${url}'--`)],
  ["a path below", 404, /no report address/, () => post("x", {}, `${url}/more`)],
  ["another type", 415, /application\/tlsrpt/, () => post("{}", { "content-type": "application/json" })],
  ["a content encoding", 415, /Content-Encoding/, () => post("{}", { "content-encoding": "gzip" })],
  ["an unreadable body", 400, /JSON|neither/, () => post("{")],
  ["a damaged body", 400, /gzip data is damaged/, () => post(gzipSync(tlsJson({})).subarray(0, 40))],
  ["a body that is too large", 413, /more than/, () => post(Buffer.alloc(5 * 1024 * 1024))],
  ["a bomb", 413, /unpacked/, () => post(gzipSync(Buffer.alloc(8 * 1024 * 1024)))],
  ["a DMARC report", 400, /not a TLS report/, () => post(dmarcXml({ rows: [{ ip: "192.0.2.1" }] }))],
  ["another domain", 400, /not about sender\.test/, () => post(tlsJson({ domain: "other.test" }))],
  ["an old report", 400, /days ago/, () => post(tlsJson({ daysAgo: 30 }))],
  ["an empty body", 400, /neither/, () => post("")],
];

for (const [name, status, reason, request] of refusals)
  test(`refuses ${name}`, async () => {
    const before = await summary();
    const response = await request();
    assert.equal(response.status, status, response.text);
    assert.match(response.text, reason);
    assert.deepEqual(await summary(), before);
  });

test("a refusal reaches a client that is still sending, also without a declared length", async () => {
  const body = new ReadableStream({
    async pull(controller) {
      for (let i = 0; i < 5; i++) controller.enqueue(Buffer.alloc(1024 * 1024));
      controller.close();
    },
  });
  const headers = { "content-type": "application/tlsrpt+gzip" };
  for (let attempt = 0; attempt < 3; attempt++) {
    const declared = await fetch(url, { method: "POST", headers, body: Buffer.alloc(5 * 1024 * 1024) });
    assert.equal(declared.status, 413);
    await declared.text();
  }
  const chunked = await fetch(url, { method: "POST", headers, body, duplex: "half" } as RequestInit);
  assert.equal(chunked.status, 413, await chunked.text());
});

test("only POST is allowed", async () => {
  const response = await fetch(url);
  assert.equal(response.status, 405);
  assert.equal(response.headers.get("allow"), "POST");
});

test("a client that posts without pause has to wait, and its reports do not stop those by mail", async () => {
  const answers = await Promise.all(
    Array.from({ length: 80 }, (_, i) => post(gzipSync(tlsJson({ id: `flood ${i}` })))),
  );
  const slowed = answers.filter(({ status }) => status === 429 || status === 503);
  assert.ok(slowed.length > 0, answers.map(({ status }) => status).join());
  for (const { headers } of slowed) assert.match(headers.get("retry-after") ?? "", /^\d+$/);
  assert.match(await deliverReport(testbed, { text: tlsJson({ id: "after the flood" }), to: address }), /^250/);
});
