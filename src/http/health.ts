/** /healthz, /readyz and /metrics on the API port. The first two return a status without reasons; /metrics needs a token. The operations
 * port (src/app/ops-listener.ts) has the details. Called by app/assemble.ts. */
import { timingSafeEqual } from "node:crypto";
import { type PageHandler, sendText } from "./dispatch.ts";
import type { Request } from "./server.ts";

export type HealthPageDeps = {
  metricsToken: string | undefined;
  ready(): Promise<boolean>;
  /** The metrics in the Prometheus format. */
  metrics(): Promise<{ contentType: string; text: string }>;
};

export function healthPages(deps: HealthPageDeps): Map<string, PageHandler> {
  return new Map<string, PageHandler>([
    ["/healthz", (_request, response) => sendText(response, 200, "ok\n")],
    [
      "/readyz",
      async (_request, response) => {
        const ready = await deps.ready();
        response.statusCode = ready ? 200 : 503;
        response.setHeader("content-type", "application/json");
        response.end(`${JSON.stringify({ ready })}\n`);
      },
    ],
    [
      "/metrics",
      async (request, response) => {
        // Also for loopback: requests through a proxy on this machine come from loopback too.
        if (!hasToken(request, deps.metricsToken)) {
          response.setHeader("www-authenticate", 'Bearer realm="metrics"');
          return sendText(response, 401, tokenRequired);
        }
        const { contentType, text } = await deps.metrics();
        response.setHeader("content-type", contentType);
        response.end(text);
      },
    ],
  ]);
}

export const tokenRequired =
  "Send the value of POSTHORN_METRICS_TOKEN as Authorization: Bearer. If none is set, read the metrics on the machine itself, at POSTHORN_OPS.\n";

/** Whether the request carries the token. False if no token is configured. */
export function hasToken(request: Pick<Request, "headers">, token: string | undefined): boolean {
  if (token === undefined) return false;
  const given = Buffer.from(request.headers.authorization ?? "");
  const expected = Buffer.from(`Bearer ${token}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
