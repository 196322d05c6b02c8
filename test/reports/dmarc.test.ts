/** DMARC reports from a foreign reporter, by SMTP, to figures and events. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { createResolver } from "../../src/dns/resolver.ts";
import { deliverInbound, type InboundTestbed, startInboundTestbed, zone } from "../harness/inbound.ts";
import {
  addReporter,
  dayStart,
  deliverReport,
  dmarcXml,
  domainIdOf,
  reportAddressOf,
  reportMail,
} from "../harness/reports.ts";
import { addSendingDomain } from "../harness/testbed.ts";

type Counts = { messages: number; aligned: number; rejected: number };
type Summary = {
  total: Counts;
  days: { start: string; counts: Counts }[];
  reporters: number;
  sources: number;
  lastReportAt?: string;
  reportAddress: string;
  progress: { step: string };
};

let testbed: InboundTestbed;
let address: string;
let domainId: string;
before(async () => {
  testbed = await startInboundTestbed({ env: { POSTHORN_PUBLIC_IPS: "203.0.113.9" } });
  addReporter(testbed.dns, "reporter.test");
  testbed.dns.set("_dmarc.strict.test", "TXT", "v=DMARC1; p=reject");
  testbed.dns.behave("_dmarc.mute.test", "servfail");
  testbed.dns.behave("mute.test", "servfail");
  address = await reportAddressOf(testbed);
  domainId = await domainIdOf(testbed);
});
after(async () => await testbed.stop());

async function summary(): Promise<Summary> {
  const { status, body } = await testbed.call("ReportService/GetDmarcSummary", { domainId });
  assert.equal(status, 200, JSON.stringify(body));
  return body as unknown as Summary;
}

async function sources(request: Record<string, unknown> = {}) {
  const { body } = await testbed.call("ReportService/ListDmarcSources", { domainId, ...request });
  return body.data as Record<string, unknown>[];
}

const reportEvents = async () =>
  (await testbed.events()).filter(({ event }) => event.type === "domain.report").map(({ event }) => event.domainReport);

test("our DNS says that reports about the domain may be sent here, and that reports.<zone> takes mail", async () => {
  const servers = [{ host: "127.0.0.1", port: testbed.program.ports.dns! }];
  const resolver = createResolver({ servers });
  try {
    const authorization = await resolver.lookup(`sender.test._report._dmarc.reports.${zone}`, "TXT");
    assert.deepEqual(authorization.kind === "found" && authorization.records.map(({ strings }) => strings), [
      ["v=DMARC1;"],
    ]);
    const other = await resolver.lookup(`other.test._report._dmarc.reports.${zone}`, "TXT");
    assert.equal(other.kind, "nodata");
    const mx = await resolver.lookup(`reports.${zone}`, "MX");
    assert.deepEqual(mx.kind === "found" && mx.records.map(({ exchange }) => exchange.toLowerCase()), [
      `inbound.${zone}`,
    ]);
  } finally {
    resolver.stop();
  }
});

test("before the first report, the figures are empty and name the address", async () => {
  const { total, days, reportAddress, lastReportAt, progress } = await summary();
  assert.equal(total.messages, 0);
  assert.equal(days.length, 31);
  assert.equal(reportAddress, address);
  assert.equal(lastReportAt, undefined);
  assert.notEqual(progress.step, "DMARC_STEP_UNSPECIFIED");
});

const first = dmarcXml({
  id: "first",
  rows: [
    { ip: "203.0.113.9", count: 90 },
    { ip: "192.0.2.66", count: 7, dkim: "fail", disposition: "reject", signedBy: "spam.test" },
    { ip: "192.0.2.67", count: 3, dkim: "fail", signedBy: "bulk.test" },
  ],
});

test("an authenticated report becomes figures and an event about the largest new source", async () => {
  assert.match(await deliverReport(testbed, { text: first, to: address }), /^250 .*report stored/);
  const { total, days, reporters, sources: addresses, lastReportAt } = await summary();
  assert.deepEqual([total.messages, total.aligned, total.rejected], [100, 90, 7]);
  assert.deepEqual([reporters, addresses], [1, 3]);
  assert.ok(lastReportAt);
  const reported = days.filter(({ counts }) => counts.messages > 0);
  assert.deepEqual(
    reported.map(({ start, counts }) => [Date.parse(start), counts.messages]),
    [[dayStart(1), 100]],
  );

  const [own, spam] = await sources();
  assert.deepEqual([own!.ip, own!.own], ["203.0.113.9", true]);
  assert.deepEqual([spam!.ip, spam!.own, spam!.dkimDomains], ["192.0.2.66", false, ["spam.test"]]);
  assert.deepEqual(spam!.reporters, ["reporter.test"]);
  assert.deepEqual(
    (await sources({ unalignedOnly: true })).map(({ ip }) => ip),
    ["192.0.2.66", "192.0.2.67"],
  );

  // The domain is young, so a report has one event, which counts the other new sources.
  assert.deepEqual(await reportEvents(), [
    {
      domainId,
      domain: "sender.test",
      ip: "192.0.2.66",
      own: false,
      headerFrom: "sender.test",
      messages: 7,
      reporter: "reporter.test",
      organization: "Reporter",
      reportId: "first",
      dkimDomains: ["spam.test"],
      spfDomains: ["bounce.spam.test"],
      disposition: "rejected",
      moreSources: 1,
    },
  ]);
  assert.deepEqual(
    (await testbed.call("InboundService/ListInbound", {})).body.data,
    [],
    "a report is not inbound mail",
  );
});

test("the same report twice counts once", async () => {
  assert.match(await deliverReport(testbed, { text: first, to: address }), /^250/);
  assert.equal((await summary()).total.messages, 100);
  const { body } = await testbed.call("ReportService/ListReports", { domainId });
  const [report, ...others] = body.data as Record<string, unknown>[];
  assert.deepEqual(others, []);
  assert.match(report!.id as string, /^rep_/);
  const { kind, via, authenticatedDomain, reportId, total, failed } = report!;
  assert.deepEqual(
    [kind, via, authenticatedDomain, reportId, total, failed],
    ["REPORT_KIND_DMARC", "mail", "reporter.test", "first", 100, 10],
  );
});

test("sources come in pages", async () => {
  const page = await testbed.call("ReportService/ListDmarcSources", { domainId, pageSize: 2 });
  assert.equal((page.body.data as unknown[]).length, 2);
  const pageToken = page.body.nextPageToken as string;
  const next = await testbed.call("ReportService/ListDmarcSources", { domainId, pageSize: 2, pageToken });
  assert.deepEqual(
    (next.body.data as { ip: string }[]).map(({ ip }) => ip),
    ["192.0.2.67"],
  );
  assert.equal(next.body.nextPageToken, "");
});

test("a forged report changes nothing", async () => {
  const before = await summary();
  const text = dmarcXml({ id: "forged", rows: [{ ip: "192.0.2.99", count: 1000, dkim: "fail" }] });
  for (const from of ["reports@strict.test", "reports@nodmarc.test", "reports@reporter.test"])
    await assert.rejects(deliverReport(testbed, { text, to: address, from, key: null }), /550 5\.7\.1/, from);
  await assert.rejects(deliverReport(testbed, { text, to: address, from: "r@mute.test", key: null }), /451 4\.7\.0/);
  assert.deepEqual((await summary()).total, before.total);
  assert.equal((await reportEvents()).length, 1);
});

test("a report about another domain, of another time, or without a report in it is refused with the reason", async () => {
  const before = await summary();
  const rows = [{ ip: "192.0.2.1" }];
  await assert.rejects(
    deliverReport(testbed, { text: dmarcXml({ id: "x", domain: "other.test", rows }), to: address }),
    /554 5\.6\.0 the report is not about sender\.test/,
  );
  await assert.rejects(
    deliverReport(testbed, { text: dmarcXml({ id: "x", daysAgo: 40, rows }), to: address }),
    /14 days ago/,
  );
  await assert.rejects(deliverReport(testbed, { text: "hello", to: address }), /neither a DMARC report/);
  await assert.rejects(
    deliverReport(testbed, { text: "", packed: Buffer.from("hello"), to: address }),
    /no DMARC or TLS report/,
  );
  assert.deepEqual((await summary()).total, before.total);
});

test("unknown report addresses are refused at RCPT, and a report may have other recipients", async () => {
  const text = dmarcXml({ id: "unknown", rows: [{ ip: "192.0.2.1" }] });
  for (const to of [`nobody@reports.${zone}`, `${"a".repeat(20)}@reports.${zone}`])
    await assert.rejects(deliverReport(testbed, { text, to }), /550 5\.1\.1/);
  const raw = await reportMail({ to: address, content: Buffer.from(text), type: "text/xml" });
  const reply = await deliverInbound(testbed, { from: "reports@reporter.test", to: [address, "us@sender.test"], raw });
  assert.match(reply, /^250/);
  assert.equal((await summary()).total.messages, 101);
  assert.equal(((await testbed.call("InboundService/ListInbound", {})).body.data as unknown[]).length, 1);
});

test("a report with several report addresses counts for the registrations that it is about", async () => {
  const before = await summary();
  await addSendingDomain(testbed.database.sql, testbed.workspaceId, "news.sender.test");
  const news = await reportAddressOf(testbed, "news.sender.test");
  const deliver = async (content: string) =>
    await deliverInbound(testbed, {
      from: "reports@reporter.test",
      to: [news, address],
      raw: await reportMail({ to: address, content: gzipSync(content) }),
    });
  assert.match(await deliver(dmarcXml({ id: "two", rows: [{ ip: "192.0.2.1", count: 5 }] })), /^250/);
  assert.equal((await summary()).total.messages, before.total.messages + 5);
  const { body } = await testbed.call("ReportService/ListReports", {
    domainId: await domainIdOf(testbed, "news.sender.test"),
  });
  assert.deepEqual(body.data, []);
  const other = dmarcXml({ id: "none", domain: "other.test", rows: [{ ip: "192.0.2.1" }] });
  await assert.rejects(deliver(other), /554 5\.6\.0 the report is not about news\.sender\.test/);
});

test("the next step names the sources with the most failures, not those with the most mail", async () => {
  const { sql } = testbed.database;
  const id = await addSendingDomain(sql, testbed.workspaceId, "large.test");
  const found = `v=DMARC1; p=none; rua=mailto:${await reportAddressOf(testbed, "large.test")}`;
  const records = [{ key: "dmarc", status: "found", discoveredValue: found, note: "" }];
  await sql`update domains set records = ${JSON.stringify(records)}::text::jsonb where id = ${id}`;
  await sql`
    insert into dmarc_counts (workspace_id, domain_id, ip, day, header_from, messages, aligned, dkim_aligned, spf_aligned, delivered,
      quarantined, rejected, dkim_domains, spf_domains, reporters, overrides, stored_at)
    select ${testbed.workspaceId}::uuid, ${id}::uuid, s.ip, current_date - d, 'large.test', s.messages, s.aligned, 0, 0, 0, 0, 0, '{}', '{}', '{}', '{}',
      service_time()
    from generate_series(0, 9) d, (values ('192.0.2.1', 1000, 999), ('192.0.2.2', 900, 899), ('192.0.2.3', 800, 799), ('192.0.2.4', 300, 0),
      ('', 400, 0)) s(ip, messages, aligned)`;
  const { body } = await testbed.call("ReportService/GetDmarcSummary", { domainId: `dom_${id}` });
  const { step, message } = body.progress as { step: string; message: string };
  assert.equal(step, "DMARC_STEP_FIX_SOURCES");
  assert.match(message, /Most failures came from 192\.0\.2\.4 \(3,000\), 192\.0\.2\.1 \(10\), 192\.0\.2\.2 \(10\)\./);
});

test("another workspace's registration of the same name gets none of the reports", async () => {
  const [{ id }] = (await testbed.database.sql<{ id: string }[]>`
    insert into workspaces (id, name) values (gen_random_uuid(), 'other') returning id`) as unknown as [{ id: string }];
  await testbed.database.sql`insert into event_counters (workspace_id) values (${id})`;
  await addSendingDomain(testbed.database.sql, id, "sender.test");
  const [other] = await testbed.database.sql<
    { n: number }[]
  >`select count(*)::int as n from reports where workspace_id = ${id}`;
  assert.equal(other!.n, 0);
});

test("after the domain is deleted, its address and its figures are gone", async () => {
  assert.equal((await testbed.call("DomainService/DeleteDomain", { id: domainId })).status, 200);
  const text = dmarcXml({ id: "late", rows: [{ ip: "192.0.2.1" }] });
  await assert.rejects(deliverReport(testbed, { text, to: address }), /550 5\.1\.1/);
  assert.equal((await testbed.call("ReportService/GetDmarcSummary", { domainId })).body.code, "not_found");
});
