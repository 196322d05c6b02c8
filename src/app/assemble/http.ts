/** Wires the HTTP port, from a connection to the services' handlers. Called by assemble.ts with the api role. */
import { fileURLToPath } from "node:url";
import { createAnswerMemory } from "../../http/answer-memory.ts";
import { createCallShares } from "../../http/call-shares.ts";
import { allowedConnections, maxConnections } from "../../http/connections.ts";
import { createDispatch, type PageHandler } from "../../http/dispatch.ts";
import { createFiles, openapiPages } from "../../http/files.ts";
import { createForwardedShares, createProxyTrust } from "../../http/forwarded.ts";
import { healthPages } from "../../http/health.ts";
import { createRefusalPace } from "../../http/refusals.ts";
import { createBodyMemory } from "../../http/request-body.ts";
import { createRouter, type RouterDeps } from "../../http/router.ts";
import { createSafeHeaders } from "../../http/safe-headers.ts";
import { createHttp } from "../../http/server.ts";
import { createUnaryCalls } from "../../http/unary-json.ts";
import type { Reader } from "../../inbound/reader.ts";
import type { Clock } from "../../ops/clock.ts";
import type { HeapRelief } from "../../ops/heap-relief.ts";
import type { Log } from "../../ops/log.ts";
import type { Metrics } from "../../ops/metrics.ts";
import type { Sql } from "../../postgres/pool.ts";
import { partOf } from "../../shares/process-part.ts";
import { unsubscribePage } from "../../suppressions/unsubscribe/endpoint.ts";
import { linkPath, type UnsubscribeLinks } from "../../suppressions/unsubscribe/links.ts";
import type { Config } from "../config.ts";
import type { Host } from "../host.ts";
import type { Ops } from "./ops.ts";
import { tlsReportPages } from "./reports.ts";

type HttpParts = Pick<RouterDeps, "authenticator" | "sessions" | "callLimit" | "loop" | "shutdown"> & {
  config: Config;
  log: Log;
  metrics: Metrics;
  clock: Clock;
  sql: Sql;
  heap: HeapRelief;
  host: Host;
  ops: Ops;
  services: Parameters<typeof createRouter>[1];
  /** Endpoints that are not RPCs, by path. */
  pages: Map<string, PageHandler>;
  unsubscribeLinks: UnsubscribeLinks;
  reader: Reader;
  onEvent(): void;
};

export async function startHttp(parts: HttpParts): Promise<{ port: number; stop(): Promise<void> }> {
  const { config, log, metrics, clock, sql, host, ops, services, loop, onEvent, reader } = parts;
  const { authenticator, sessions, callLimit, shutdown } = parts;
  const { part } = host;
  const router: RouterDeps = {
    log,
    metrics,
    authenticator,
    sessions,
    callLimit,
    maxBodyBytes: config.limits.bodyBytes,
    calls: createCallShares({}, part),
    answers: createAnswerMemory({}, part),
    loop,
    refusals: createRefusalPace(() => metrics.slowedRefusals.inc(), {}, part),
    shutdown,
  };
  const rpcs = createRouter(router, services);
  const bodies = createBodyMemory(4 * config.limits.bodyBytes, part);
  const { trustedProxies } = config;
  const proxies = createProxyTrust(trustedProxies);
  const safeHeaders = createSafeHeaders({ publicUrl: config.publicUrl, proxies });
  const unaryCalls = createUnaryCalls({ ...router, bodies, safeHeaders, trustedProxies }, services);
  const openapi = await openapiPages(fileURLToPath(new URL("../../../docs/openapi.json", import.meta.url)));
  const files = await createFiles(fileURLToPath(new URL("../../../web/dist", import.meta.url)));
  const unsubscribe = unsubscribePage({ sql, log, clock, links: parts.unsubscribeLinks, onEvent, trustedProxies });
  const http = createHttp({
    ...config.http,
    log,
    metrics,
    // Each process has the open files that the system allows a process, and all have the limit of the port together.
    limits: { connections: Math.min(allowedConnections(), partOf(maxConnections, part)) },
    isTrustedProxy: proxies.isTrusted,
    heap: parts.heap,
    shared: host.listener("http"),
    handle: createDispatch({
      log,
      metrics,
      rpcs,
      unaryCalls,
      pages: new Map([...healthPages(ops.health), ...parts.pages, ...openapi]),
      folders: new Map([[linkPath, unsubscribe], ...tlsReportPages({ config, sql, log, metrics, clock, reader })]),
      files,
      corsOrigins: config.corsOrigins,
      bodies,
      loop,
      safeHeaders,
      forwarded: createForwardedShares(proxies, {}, part),
      trustedProxies,
      maxBodyBytes: config.limits.bodyBytes,
      streamStallMs: config.stream.stallMs,
    }),
  });
  ops.beforeScrape(() => {
    metrics.httpInUse.set({ resource: "connections" }, http.connections());
    metrics.httpInUse.set({ resource: "calls" }, router.calls.count());
    metrics.httpInUse.set({ resource: "body_bytes" }, bodies.usedBytes());
    metrics.httpInUse.set({ resource: "answer_bytes" }, router.answers.usedBytes());
  });
  const { port } = await http.start();
  return { port, stop: async () => await http.stop(config.drainMs, host.lingerMs()) };
}
