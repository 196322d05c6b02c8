/** The operations port of every node: /healthz, /readyz with details and /metrics, whatever the node's roles. It starts before everything else and
 * closes last, so that a start that waits and a stop that drains can be watched. docs/decisions/0023 says why it is a port of its own. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { hasToken, noToken } from "../api/health.ts";
import type { Log } from "../ops/log.ts";
import { isLoopback } from "./config.ts";
import type { Details } from "./readiness.ts";

export type OpsListenerDeps = {
  host: string;
  port: number;
  /** False: the port is the default, and a free one will do where it is taken. */
  chosen: boolean;
  log: Log;
  /** Needed for details and metrics on an address beyond loopback. */
  token: string | undefined;
  details(): Promise<Details>;
  metrics(): Promise<{ contentType: string; text: string }>;
  limits?: Partial<typeof defaultLimits>;
};

const defaultLimits = {
  /** More are closed at once: a scraper and a few checks need a handful. */
  connections: 64,
  headMs: 5_000,
  requestMs: 10_000,
  /** The longest silence of a connection, also of one that does not read its answer. */
  idleMs: 15_000,
  headerBytes: 8 * 1024,
  /** How long a stop waits for answers under way. */
  stopMs: 1_000,
};

export function createOpsListener(deps: OpsListenerDeps) {
  const limits = { ...defaultLimits, ...deps.limits };
  const local = isLoopback(deps.host);
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headMs),
    },
    (request, response) => {
      request.on("error", () => {});
      response.on("error", () => {});
      answer(request, response).catch((error: Error) => {
        deps.log.error({ err: error }, "a request to the operations port failed");
        if (!response.headersSent) say(response, 500, "internal error\n");
        else response.destroy();
      });
    },
  );
  server.maxConnections = limits.connections;
  server.setTimeout(limits.idleMs);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Nothing here reads a body: what comes of one is not taken for the next request.
    if (hasBody(request)) response.shouldKeepAlive = false;
    const page = pages.get((request.url ?? "").split("?", 1)[0]!);
    if (!page) return say(response, 404, `There is /healthz, /readyz and /metrics.\n`);
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return say(response, 405, "Use GET.\n");
    }
    // A page in a browser on this machine can reach loopback under a name of its own (DNS rebinding), and a proxy brings strangers.
    if (local && !isLocalName(request.headers.host))
      return say(response, 403, "This port answers to localhost and to IP addresses only.\n");
    await page(request, response);
  }

  const maySee = (request: IncomingMessage) => local || hasToken(request, deps.token);

  const pages = new Map<string, (request: IncomingMessage, response: ServerResponse) => Promise<void> | void>([
    ["/healthz", (_, response) => say(response, 200, "ok\n")],
    [
      "/readyz",
      async (request, response) => {
        const details = await deps.details();
        const shown = maySee(request) ? details : { ready: details.ready };
        say(response, details.ready ? 200 : 503, `${JSON.stringify(shown)}\n`, "application/json");
      },
    ],
    [
      "/metrics",
      async (request, response) => {
        if (!maySee(request)) {
          response.setHeader("www-authenticate", 'Bearer realm="metrics"');
          return say(response, 401, noToken);
        }
        const { contentType, text } = await deps.metrics();
        say(response, 200, text, contentType);
      },
    ],
  ]);

  return {
    /** The port it listens on. */
    async start(): Promise<number> {
      const taken = await listen(server, deps).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EADDRINUSE" || deps.chosen) throw error;
        return error;
      });
      if (taken) await listen(server, { host: deps.host, port: 0 });
      server.on("error", (error) => deps.log.error({ err: error }, "the operations port failed"));
      return (server.address() as AddressInfo).port;
    },
    async stop(): Promise<void> {
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const force = setTimeout(() => server.closeAllConnections(), limits.stopMs);
      // An answer that ends after this must not leave its connection open.
      const idle = setInterval(() => server.closeIdleConnections(), 20);
      await closed;
      clearTimeout(force);
      clearInterval(idle);
    },
  };
}

async function listen(server: Server, { host, port }: { host: string; port: number }): Promise<undefined> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function say(response: ServerResponse, status: number, text: string, type = "text/plain; charset=utf-8"): void {
  response.statusCode = status;
  response.setHeader("content-type", type);
  response.setHeader("content-length", Buffer.byteLength(text));
  response.setHeader("cache-control", "no-store");
  response.end(text);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0;
}

/** Browsers always name the host; simple health checks in HTTP/1.0 do not. */
function isLocalName(host: string | undefined): boolean {
  if (host === undefined) return true;
  const name = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host);
  const bare = name?.[1] ?? name?.[2] ?? "";
  return bare.toLowerCase() === "localhost" || isIP(bare) !== 0;
}
