/** /healthz says that the process runs, /readyz that it can serve, /metrics what it did. */
import { timingSafeEqual } from "node:crypto";
import type { Metrics } from "../ops/metrics.ts";
import { type Page, plain } from "./dispatch.ts";
import type { Request } from "./http.ts";

export type HealthDeps = {
  metrics: Metrics;
  metricsToken: string | undefined;
  /** Without a token, metrics are for this machine only. */
  onLoopback: boolean;
  /** Resolves when the database answers; each check has its own deadline. */
  ready(): Promise<Record<string, string>>;
  /** Brings gauges up to date before they are shown. */
  measure(): Promise<void>;
};

export function healthPages(deps: HealthDeps): Map<string, Page> {
  return new Map<string, Page>([
    ["/healthz", (_request, response) => plain(response, 200, "ok\n")],
    [
      "/readyz",
      async (_request, response) => {
        const checks = await deps.ready();
        const good = Object.values(checks).every((state) => state === "ok");
        const body = JSON.stringify({ ready: good, checks }) + "\n";
        response.statusCode = good ? 200 : 503;
        response.setHeader("content-type", "application/json");
        response.end(body);
      },
    ],
    [
      "/metrics",
      async (request, response) => {
        if (!mayRead(deps, request)) {
          response.setHeader("www-authenticate", 'Bearer realm="metrics"');
          return plain(response, 401, "Set POSTHORN_METRICS_TOKEN and send it as Authorization: Bearer.\n");
        }
        await deps.measure();
        const text = await deps.metrics.registry.metrics();
        response.setHeader("content-type", deps.metrics.registry.contentType);
        response.end(text);
      },
    ],
  ]);
}

function mayRead(deps: HealthDeps, request: Request): boolean {
  if (deps.metricsToken === undefined) return deps.onLoopback;
  const given = Buffer.from(request.headers.authorization ?? "");
  const wanted = Buffer.from(`Bearer ${deps.metricsToken}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
