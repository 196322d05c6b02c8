import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { passServiceTime } from "../../../test/harness/time.ts";
import { addDomain, deleteDomain } from "../../domains/store/domains.ts";
import type { DmarcReport, DmarcRow } from "../../mail/reports/dmarc-aggregate.ts";
import type { TlsReport } from "../../mail/reports/tls-report.ts";
import { noMessages } from "../rules/counts.ts";
import { eventLimit, reporterLimit, unauthenticatedLimit } from "../rules/limits.ts";
import { dayMs } from "../rules/span.ts";
import { countSources, dmarcByDay, dmarcSources } from "./dmarc.ts";
import type { ReportedDomain } from "./domains.ts";
import { storeReport } from "./fold.ts";
import { forgetReports } from "./forget.ts";
import { largestReporter, lastReportAt, listReports } from "./list.ts";
import { tlsByDay, tlsFailures } from "./tls.ts";

let database: TestDatabase;
let domain: ReportedDomain;
let names = 0;
/** Ids have the order of arrival. */
let stored = 0;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());
beforeEach(async () => {
  const { sql } = database;
  const added = newDomain(await makeBareWorkspace(sql), `d${names++}.test`);
  await addDomain(sql, added);
  domain = { workspaceId: added.workspaceId, id: added.id, domain: added.domain };
});

const nowMs = Date.now();
const today = Math.floor(nowMs / dayMs) * dayMs;
const span = { fromMs: today - 30 * dayMs, toMs: today + dayMs };
const key = () => ({ workspaceId: domain.workspaceId, domainId: domain.id });

const row = (ip: string, messages: number, aligned = 0): DmarcRow => ({
  ip,
  headerFrom: domain.domain,
  counts: { ...noMessages, messages, aligned, delivered: messages },
  dkimDomains: ["signer.test"],
  spfDomains: [],
  overrides: [],
});

const dmarc = (reportId: string, rows: DmarcRow[], daysAgo = 1): DmarcReport => ({
  kind: "dmarc",
  organization: "Reporter",
  reportId,
  beginMs: today - daysAgo * dayMs,
  endMs: today - (daysAgo - 1) * dayMs,
  domain: domain.domain,
  rows,
});

const tls = (reportId: string, sessions: number): TlsReport => ({
  kind: "tls",
  organization: "Sender",
  reportId,
  beginMs: today - dayMs,
  endMs: today,
  domains: [domain.domain],
  succeeded: 10,
  failed: sessions,
  failures: [
    { resultType: "certificate-expired", policyType: "sts", sendingIp: "192.0.2.1", receivingMx: "mx.test", sessions },
    { resultType: "made-up", policyType: "", sendingIp: "", receivingMx: "", sessions: 1 },
  ],
});

const store = (report: DmarcReport | TlsReport, reporter = "reporter.test", via: "mail" | "https" = "mail") =>
  storeReport(database.sql, { domain, via, reporter, report, nowMs: nowMs + stored++, isOwnAddress: () => false });

const eventsOf = async () =>
  await database.sql<{ payload: { ip: string; moreSources: number; reporter: string } }[]>`
    select payload from events where workspace_id = ${domain.workspaceId} and type = 'domain.report' order by number`;

/** Makes the domain one whose first report is older than the time in which most sources are new. */
async function makeEstablished(): Promise<void> {
  await store(dmarc("establishing", []));
  await database.sql`update reports set stored_at = stored_at - interval '30 days' where domain_id = ${domain.id}`;
}

test("reports of several reporters add up, by day and by address", async () => {
  assert.deepEqual(await store(dmarc("1", [row("192.0.2.1", 10, 10), row("192.0.2.2", 5)])), {
    kind: "stored",
    events: 1,
  });
  await store(dmarc("1", [row("192.0.2.1", 7, 7)]), "other.test");
  await store(dmarc("2", [row("192.0.2.1", 1, 1)], 2));
  const days = await dmarcByDay(database.sql, key(), span);
  assert.deepEqual(
    [...days].sort().map(([start, { messages, aligned }]) => [start, messages, aligned]),
    [
      [today - 2 * dayMs, 1, 1],
      [today - dayMs, 22, 17],
    ],
  );
  assert.deepEqual(await countSources(database.sql, key(), span), { sources: 2, reporters: 2 });
  const page = { ...span, unalignedOnly: false, after: undefined, limit: 10 };
  const [first, second] = await dmarcSources(database.sql, key(), page);
  assert.deepEqual([first!.ip, first!.messages, first!.reporters], ["192.0.2.1", 18, ["other.test", "reporter.test"]]);
  assert.deepEqual([first!.firstMs, first!.lastMs], [today - 2 * dayMs, today - dayMs]);
  assert.deepEqual([second!.ip, second!.dkimDomains], ["192.0.2.2", ["signer.test"]]);
  assert.ok(await lastReportAt(database.sql, key(), "dmarc"));
  assert.equal(await lastReportAt(database.sql, key(), "tls"), undefined);
});

test("the same report counts once, also at the same time, but another reporter may use the same id", async () => {
  const report = dmarc("same", [row("192.0.2.1", 10)]);
  const results = await Promise.all([store(report), store(report), store(report), store(report, "other.test")]);
  assert.deepEqual(results.map(({ kind }) => kind).sort(), ["seen", "seen", "stored", "stored"]);
  const days = await dmarcByDay(database.sql, key(), span);
  assert.equal(days.get(today - dayMs)!.messages, 20);
});

test("a reporter may use one id for the reports about a domain and about its subdomain", async () => {
  const report = dmarc("same", [row("192.0.2.1", 10)]);
  await store(report);
  const news = { ...report, domain: `news.${domain.domain}` };
  assert.equal((await store(news)).kind, "stored");
  assert.equal((await store(news)).kind, "seen");
  await store(tls("same", 5));
  assert.equal((await store({ ...tls("same", 5), domains: [`news.${domain.domain}`] })).kind, "stored");
});

test("the largest reporter is an organization, by the messages of the range", async () => {
  await store(dmarc("1", [row("192.0.2.1", 60)]), "one.test");
  await store(dmarc("1", [row("192.0.2.1", 40)]), "a.many.test");
  await store(dmarc("1", [row("192.0.2.1", 40)]), "b.many.test");
  await store(tls("1", 1000), "tls.test");
  assert.deepEqual(await largestReporter(database.sql, key(), span), { reporter: "many.test", messages: 80 });
  const earlier = { fromMs: today - 30 * dayMs, toMs: today - dayMs };
  assert.equal(await largestReporter(database.sql, key(), earlier), undefined);
});

test("a new failing source has one event, also when another reporter names it later", async () => {
  await makeEstablished();
  await store(dmarc("1", [row("192.0.2.1", 5, 5)]));
  assert.equal((await eventsOf()).length, 0, "a source that passes");
  await store(dmarc("2", [row("192.0.2.1", 5, 4)]));
  await store(dmarc("3", [row("192.0.2.1", 9)]), "other.test");
  assert.deepEqual(
    (await eventsOf()).map(({ payload }) => payload.ip),
    ["192.0.2.1"],
  );
});

test("events are limited per report and per day, and the last of a report counts the rest", async () => {
  await makeEstablished();
  for (let report = 0; report < 10; report++)
    await store(
      dmarc(
        String(report),
        Array.from({ length: 6 }, (_, i) => row(`10.0.${report}.${i}`, 10 - i)),
      ),
      report < 5 ? `d${report}.reporter.test` : `other${report}.test`,
    );
  const events = await eventsOf();
  assert.equal(events.length, eventLimit.perDay);
  const counts = events.map(({ payload }) => payload.reporter.endsWith(".reporter.test"));
  assert.equal(
    counts.filter(Boolean).length,
    eventLimit.perReporter,
    "subdomains share the events of their organization",
  );
  assert.deepEqual(
    events.slice(0, 3).map(({ payload }) => [payload.ip, payload.moreSources]),
    [
      ["10.0.0.0", 0],
      ["10.0.0.1", 0],
      ["10.0.0.2", 3],
    ],
  );
});

test("a reporter that invents addresses fills neither the database nor the share of others", async () => {
  const many = (net: number) =>
    Array.from({ length: reporterLimit.newRows }, (_, i) => row(`10.${net}.${i >> 8}.${i & 255}`, 1));
  await store(dmarc("1", many(1)));
  await store(dmarc("2", many(2)), "another.name.reporter.test");
  await store(dmarc("honest", [row("192.0.2.1", 3)]), "honest.test");
  const [counted] = await database.sql<{ rows: number }[]>`
    select count(*)::int as rows from dmarc_counts where domain_id = ${domain.id}`;
  assert.equal(counted!.rows, reporterLimit.newRows + 2, "the rows of the first, one for the rest, one of the other");
  const days = await dmarcByDay(database.sql, key(), span);
  assert.equal(days.get(today - dayMs)!.messages, 2 * reporterLimit.newRows + 3, "every message is counted");
  assert.equal((await countSources(database.sql, key(), span)).sources, reporterLimit.newRows + 1);
});

test("past the reports of a day, a reporter has to retry, and others do not", async () => {
  await store(dmarc("1", []));
  await database.sql`update report_limits set reports = ${reporterLimit.reports} where domain_id = ${domain.id} and reporter = 'reporter.test'`;
  assert.deepEqual(await store(dmarc("2", [])), { kind: "full" });
  assert.deepEqual(
    await store(dmarc("2", []), "mx1.reporter.test"),
    { kind: "full" },
    "a subdomain is the same reporter",
  );
  assert.deepEqual(await store(dmarc("1", [])), { kind: "seen" }, "a repeated report is acknowledged");
  assert.equal((await store(dmarc("2", []), "other.test")).kind, "stored");
  await store(tls("1", 1), "", "https");
  await database.sql`update report_limits set reports = ${unauthenticatedLimit.reports} where domain_id = ${domain.id} and reporter = ''`;
  assert.deepEqual(await store(tls("2", 1), "", "https"), { kind: "full" });
});

test("TLS reports are counted by authentication, and unknown results become one", async () => {
  await store(tls("1", 2));
  await store(tls("2", 3));
  await store(tls("1", 100), "", "https");
  await store(tls("1", 100), "", "https");
  const days = await tlsByDay(database.sql, key(), span);
  assert.deepEqual(days.map(({ authenticated, succeeded, failed }) => [authenticated, succeeded, failed]).sort(), [
    [false, 10, 100],
    [true, 20, 5],
  ]);
  const failures = await tlsFailures(database.sql, key(), { ...span, limit: 100 });
  assert.deepEqual(
    failures.map(({ resultType, authenticated, sessions }) => [resultType, authenticated, sessions]),
    [
      ["certificate-expired", true, 5],
      ["other", true, 2],
      ["certificate-expired", false, 100],
      ["other", false, 1],
    ],
  );
  const reports = await listReports(database.sql, key(), { kind: "tls", before: undefined, limit: 10 });
  assert.equal(reports.length, 3);
  assert.equal((await eventsOf()).length, 0);
});

test("a deleted domain gets no more reports, and its counts are removed", async () => {
  await store(dmarc("1", [row("192.0.2.1", 3)]));
  await store(tls("1", 2));
  await deleteDomain(database.sql, domain.workspaceId, domain.id);
  assert.deepEqual(await store(dmarc("2", [])), { kind: "gone" });
  await forgetReports(database.sql, 400);
  for (const table of ["reports", "dmarc_counts", "tls_counts", "tls_failures"]) {
    const rows = await database.sql`select 1 from ${database.sql.unsafe(table)} where domain_id = ${domain.id}`;
    assert.equal(rows.length, 0, table);
  }
});

test("reports are deleted after their retention, by service time", async () => {
  await store(dmarc("old", [row("192.0.2.1", 3)]));
  await store(tls("old", 2));
  await forgetReports(database.sql, 31);
  assert.equal((await listReports(database.sql, key(), { kind: undefined, before: undefined, limit: 9 })).length, 2);
  for (const table of ["reports", "dmarc_counts", "tls_counts", "tls_failures"])
    await database.sql`update ${database.sql.unsafe(table)} set stored_at = stored_at - interval '32 days' where domain_id = ${domain.id}`;
  await forgetReports(database.sql, 31);
  assert.equal((await listReports(database.sql, key(), { kind: undefined, before: undefined, limit: 9 })).length, 0);
  assert.equal((await dmarcByDay(database.sql, key(), span)).size, 0);
  assert.equal((await tlsByDay(database.sql, key(), span)).length, 0);
  await database.sql`update report_limits set day = day - 5 where domain_id = ${domain.id}`;
  await passServiceTime(database.sql, "1 second");
  await forgetReports(database.sql, 31);
  assert.equal((await database.sql`select 1 from report_limits where domain_id = ${domain.id}`).length, 0);
});
