/** Wires reports about domains: ReportService, and what takes reports by mail and by HTTPS. Called by assemble.ts and by commands. */
import type { Resolver } from "../../dns/resolver.ts";
import { tlsReportPath } from "../../domains/rules/records.ts";
import type { ServiceEntry } from "../../http/call.ts";
import type { PageHandler } from "../../http/dispatch.ts";
import type { Reader } from "../../inbound/reader.ts";
import { ipAddress } from "../../mail/reports/values.ts";
import type { Clock } from "../../ops/clock.ts";
import type { Log } from "../../ops/log.ts";
import type { Metrics } from "../../ops/metrics.ts";
import type { Sql } from "../../postgres/pool.ts";
import { createHosts } from "../../reports/hosts.ts";
import { createReceiveReports, type ReceiveReport } from "../../reports/receive.ts";
import { createReportService } from "../../reports/service.ts";
import { tlsReportPage } from "../../reports/tls-page.ts";
import type { Config } from "../config.ts";

export function createReports(deps: { config: Config; sql: Sql; clock: Clock; resolver: Resolver }): ServiceEntry {
  const { config, sql, clock } = deps;
  const { zone, publicUrl } = config;
  const hostsOf = createHosts({ resolver: deps.resolver });
  return createReportService({ sql, clock, zone, publicUrl, isOwnAddress: ownAddresses(config), hostsOf });
}

type ReceiveDeps = { config: Config; sql: Sql; log: Log; metrics: Metrics; clock: Clock; onEvent(): void };

/** For the inbound role. */
export function createReportReceiver(deps: ReceiveDeps): ReceiveReport {
  const { config, sql, log, metrics, clock, onEvent } = deps;
  return createReceiveReports({
    sql,
    log,
    nowMs: clock.nowMs,
    isOwnAddress: ownAddresses(config),
    onEvent,
    note: (labels) => metrics.reports.inc(labels),
  });
}

type PageDeps = Pick<ReceiveDeps, "config" | "sql" | "log" | "metrics" | "clock"> & { reader: Reader };

/** TLS reports by HTTPS, by the folder of their path. */
export function tlsReportPages(deps: PageDeps): Map<string, PageHandler> {
  const { config, sql, log, metrics, clock, reader } = deps;
  const page = tlsReportPage(
    {
      sql,
      log,
      nowMs: clock.nowMs,
      trustedProxies: config.trustedProxies,
      read: reader.bareReport,
      note: (labels) => metrics.reports.inc(labels),
    },
    tlsReportPath,
  );
  return new Map([[tlsReportPath, page]]);
}

export function ownAddresses(config: Pick<Config, "publicIps" | "sources">): (ip: string) => boolean {
  const own = new Set([...config.publicIps, ...config.sources.map(({ address }) => address)].map(ipAddress));
  return (ip) => own.has(ip);
}
