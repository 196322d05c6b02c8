/**
 * Reports of other mail servers about the workspaces' domains: DMARC aggregate reports of receivers and TLS reports of senders. receive.ts and
 * tls-page.ts take reports, mail/reports/ reads them, store/fold.ts adds them to the counts, and rules/ has the limits and the next step of a
 * domain. This file has the RPCs of ReportService. Read receive.ts next.
 */
import { type Timestamp, timestampFromDate, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { reportAddress, tlsReportValue } from "../domains/rules/records.ts";
import { type DomainRow, getDomain } from "../domains/store/domains.ts";
import { ReportService } from "../gen/v1/report_pb.ts";
import { serve } from "../http/call.ts";
import { cutPage, keysetPage, pageSizeOf } from "../http/paging.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid, notFound, type Violation } from "../ops/problem.ts";
import { fromWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { addCounts, noMessages, noSessions } from "./rules/counts.ts";
import { foundPolicy, progressOf } from "./rules/progress.ts";
import { positionOf, tokenOf } from "./rules/source-token.ts";
import { type DaySpan, dayMs, daySpan, dayStarts } from "./rules/span.ts";
import { countSources, type DomainKey, dmarcByDay, dmarcSources, largestFailing } from "./store/dmarc.ts";
import { largestReporter, lastReportAt, listReports } from "./store/list.ts";
import { tlsByDay, tlsFailures } from "./store/tls.ts";
import { failureOnWire, kindFromWire, progressOnWire, reportOnWire, sourceOnWire } from "./wire.ts";

export type ReportServiceDeps = {
  sql: Sql;
  clock: Clock;
  zone: string;
  publicUrl: string | undefined;
  isOwnAddress(ip: string): boolean;
  /** Names of addresses that are known, or found within a moment. */
  hostsOf(ips: readonly string[], workspaceId: string): Promise<ReadonlyMap<string, string>>;
};

/** The window of the next step toward p=reject. */
const recentDays = 30;
const namedFailing = 3;
const listedFailures = 100;

export function createReportService(deps: ReportServiceDeps) {
  const { sql, clock, zone, publicUrl } = deps;

  async function domainOf(domainId: string, workspaceId: string): Promise<DomainRow> {
    if (domainId === "") throw invalid([{ field: "domainId", description: "is required" }]);
    const id = fromWireId("domain", domainId);
    const row = id && (await getDomain(sql, workspaceId, id));
    if (!row) throw notFound("domain", domainId);
    return row;
  }

  async function progress(row: DomainRow) {
    const key = { workspaceId: row.workspaceId, domainId: row.id };
    const toMs = Math.ceil(clock.nowMs() / dayMs) * dayMs;
    const span = { fromMs: toMs - recentDays * dayMs, toMs };
    const [days, largest, failing] = await Promise.all([
      dmarcByDay(sql, key, span),
      largestReporter(sql, key, span),
      largestFailing(sql, key, { ...span, limit: namedFailing }),
    ]);
    const recent = [...days.values()].reduce(addCounts, noMessages);
    const daysReported = days.size;
    const found = progressOf({
      domain: row.domain,
      address: reportAddress({ ...row, zone }),
      policy: foundPolicy(
        row.domain,
        row.records.find((one) => one.key === "dmarc"),
      ),
      recent,
      daysReported,
      largest,
      failing: failing.map((source) => ({ ...source, own: deps.isOwnAddress(source.ip) })),
    });
    return progressOnWire(found, { daysReported, recent });
  }

  return serve(ReportService, {
    async getDmarcSummary(request, call) {
      const span = spanOf(request, clock.nowMs());
      const row = await domainOf(request.domainId, call.caller.workspaceId);
      const key = keyOf(row);
      const [days, counted, last, next] = await Promise.all([
        dmarcByDay(sql, key, span),
        countSources(sql, key, span),
        lastReportAt(sql, key, "dmarc"),
        progress(row),
      ]);
      return {
        total: [...days.values()].reduce(addCounts, noMessages),
        days: dayStarts(span).map((start) => ({
          start: timestampFromMs(start),
          counts: days.get(start) ?? noMessages,
        })),
        progress: next,
        ...counted,
        lastReportAt: last && timestampFromDate(last),
        reportAddress: reportAddress({ ...row, zone }),
      };
    },

    async listDmarcSources(request, call) {
      const problems: Violation[] = [];
      const limit = pageSizeOf(request.pageSize, problems);
      const after = request.pageToken === "" ? undefined : positionOf(request.pageToken);
      if (after === null)
        problems.push({
          field: "pageToken",
          description: "is not a token that this method returned; leave it out for the first page",
        });
      const span = spanOf(request, clock.nowMs(), problems);
      const row = await domainOf(request.domainId, call.caller.workspaceId);
      const page = { ...span, unalignedOnly: request.unalignedOnly, after: after ?? undefined, limit: limit + 1 };
      const sources = await dmarcSources(sql, keyOf(row), page);
      const shown = sources.slice(0, limit);
      const hosts = await deps.hostsOf(
        shown.map(({ ip }) => ip),
        row.workspaceId,
      );
      return {
        data: shown.map((source) =>
          sourceOnWire(source, { own: deps.isOwnAddress(source.ip), host: hosts.get(source.ip) ?? "" }),
        ),
        nextPageToken: sources.length > limit ? tokenOf(shown.at(-1)!) : "",
      };
    },

    async listReports(request, call) {
      const { limit, before } = keysetPage(request);
      const row = await domainOf(request.domainId, call.caller.workspaceId);
      const found = await listReports(sql, keyOf(row), {
        kind: kindFromWire(request.kind),
        before,
        limit: limit + 1,
      });
      const { rows, nextPageToken } = cutPage(found, limit);
      return { data: rows.map(reportOnWire), nextPageToken };
    },

    async getTlsSummary(request, call) {
      const span = spanOf(request, clock.nowMs());
      const row = await domainOf(request.domainId, call.caller.workspaceId);
      const key = keyOf(row);
      const [days, failures, last] = await Promise.all([
        tlsByDay(sql, key, span),
        tlsFailures(sql, key, { ...span, limit: listedFailures }),
        lastReportAt(sql, key, "tls"),
      ]);
      const of = (authenticated: boolean) => days.filter((day) => day.authenticated === authenticated);
      const countsAt = (start: number, authenticated: boolean) => {
        const day = of(authenticated).find((one) => one.dayMs === start);
        return day ? { succeeded: day.succeeded, failed: day.failed } : noSessions;
      };
      return {
        total: of(true).reduce(addCounts<typeof noSessions>, noSessions),
        unauthenticated: of(false).reduce(addCounts<typeof noSessions>, noSessions),
        days: dayStarts(span).map((start) => ({
          start: timestampFromMs(start),
          counts: countsAt(start, true),
          unauthenticated: countsAt(start, false),
        })),
        failures: failures.map(failureOnWire),
        lastReportAt: last && timestampFromDate(last),
        recordName: `_smtp._tls.${row.domain}`,
        recordValue: tlsReportValue({ ...row, zone, publicUrl }),
      };
    },
  });
}

function keyOf({ workspaceId, id }: DomainRow): DomainKey {
  return { workspaceId, domainId: id };
}

function spanOf(
  request: { from?: Timestamp; to?: Timestamp; domainId: string },
  nowMs: number,
  problems: Violation[] = [],
): DaySpan {
  const span = daySpan({ fromMs: msOf(request.from), toMs: msOf(request.to) }, nowMs);
  if (request.domainId === "") problems.unshift({ field: "domainId", description: "is required" });
  if (Array.isArray(span)) problems.push(...span);
  if (problems.length > 0 || Array.isArray(span)) throw invalid(problems);
  return span;
}

function msOf(time: Timestamp | undefined): number | undefined {
  return time && timestampMs(time);
}
