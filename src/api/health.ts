/** What the API's own port says about the node: /healthz and /readyz give a status and no reasons, /metrics needs its token. The
 * operations port (src/app/ops-listener.ts) has the details. */
import { timingSafeEqual } from "node:crypto";
import { type Page, plain } from "./dispatch.ts";
import type { Request } from "./http.ts";

export type HealthDeps = {
  metricsToken: string | undefined;
  ready(): Promise<boolean>;
  /** The metrics as Prometheus reads them. */
  metrics(): Promise<{ contentType: string; text: string }>;
};

export function healthPages(deps: HealthDeps): Map<string, Page> {
  return new Map<string, Page>([
    ["/healthz", (_request, response) => plain(response, 200, "ok\n")],
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
        // Also on loopback: behind a proxy on this machine, every stranger comes from there.
        if (!hasToken(request, deps.metricsToken)) {
          response.setHeader("www-authenticate", 'Bearer realm="metrics"');
          return plain(response, 401, noToken);
        }
        const { contentType, text } = await deps.metrics();
        response.setHeader("content-type", contentType);
        response.end(text);
      },
    ],
  ]);
}

export const noToken =
  "Send POSTHORN_METRICS_TOKEN as Authorization: Bearer. Without a token set, read the metrics at POSTHORN_OPS, on the machine itself.\n";

/** Whether the request carries this token; never where there is none. */
export function hasToken(request: Pick<Request, "headers">, token: string | undefined): boolean {
  if (token === undefined) return false;
  const given = Buffer.from(request.headers.authorization ?? "");
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
