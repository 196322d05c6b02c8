/** The operations port of every node, whatever its roles: /healthz, /readyz with details, and /metrics. It opens before every other part
 * and closes last, so that operators can watch a start that waits and a shutdown that drains. docs/decisions/0023 explains why it is a
 * separate port. Created by assemble/ops.ts. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { createPortConnections } from "../http/connections.ts";
import { hasToken, tokenRequired } from "../http/health.ts";
import type { Log } from "../ops/log.ts";
import { isLoopbackHost } from "./config.ts";
import type { Details } from "./readiness.ts";

export type OpsListenerDeps = {
  host: string;
  port: number;
  /** Whether the operator chose the port. If not and the default is taken, the listener uses a free port. */
  chosen: boolean;
  log: Log;
  /** Required for details and metrics on an address outside loopback. */
  token: string | undefined;
  details(): Promise<Details>;
  metrics(): Promise<{ contentType: string; text: string }>;
  limits?: Partial<typeof defaultLimits>;
};

const defaultLimits = {
  /** A scraper and a few health checks need a handful. On a full port, an idle connection is closed for a client with fewer. */
  connections: 128,
  /** One address may hold this many times the number of free connections; further ones are closed at once. */
  shareFactor: 3,
  headMs: 5_000,
  requestMs: 10_000,
  /** A connection without traffic for this long is closed, also while it does not read its response. */
  idleMs: 15_000,
  headerBytes: 8 * 1024,
  /** How long stop() waits for responses in progress. */
  stopMs: 1_000,
};

export function createOpsListener(deps: OpsListenerDeps) {
  const limits = { ...defaultLimits, ...deps.limits };
  const local = isLoopbackHost(deps.host);
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headMs),
    },
    (request, response) => {
      const use = connections.useOf(request.socket);
      use?.begin();
      response.once("close", () => use?.end());
      request.on("error", () => {});
      response.on("error", () => {});
      answer(request, response).catch((error: Error) => {
        deps.log.error({ err: error }, "a request to the operations port failed");
        if (!response.headersSent) respond(response, 500, "internal error\n");
        else response.destroy();
      });
    },
  );
  server.setTimeout(limits.idleMs);
  const connections = createPortConnections({ ...limits, isTrustedProxy: () => false });
  server.prependListener("connection", (socket) => {
    if (!connections.admit(socket)) socket.destroy();
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // No page reads a body. Close the connection, so that a body is never parsed as the next request.
    if (hasBody(request)) response.shouldKeepAlive = false;
    const page = pages.get((request.url ?? "").split("?", 1)[0]!);
    if (!page) return respond(response, 404, "This port serves /healthz, /readyz and /metrics.\n");
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return respond(response, 405, "Use GET or HEAD.\n");
    }
    // A web page can reach loopback under its own host name (DNS rebinding), and a proxy may forward public requests to it.
    if (local && !isLocalName(request.headers.host))
      return respond(response, 403, "This port accepts only localhost or an IP address as Host.\n");
    await page(request, response);
  }

  const maySee = (request: IncomingMessage) => local || hasToken(request, deps.token);

  const pages = new Map<string, (request: IncomingMessage, response: ServerResponse) => Promise<void> | void>([
    ["/healthz", (_, response) => respond(response, 200, "ok\n")],
    [
      "/readyz",
      async (request, response) => {
        const details = await deps.details();
        const shown = maySee(request) ? details : { ready: details.ready };
        respond(response, details.ready ? 200 : 503, `${JSON.stringify(shown)}\n`, "application/json");
      },
    ],
    [
      "/metrics",
      async (request, response) => {
        if (!maySee(request)) {
          response.setHeader("www-authenticate", 'Bearer realm="metrics"');
          return respond(response, 401, tokenRequired);
        }
        const { contentType, text } = await deps.metrics();
        respond(response, 200, text, contentType);
      },
    ],
  ]);

  return {
    /** Returns the port that it listens on. */
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
      // A response that ends during shutdown must not leave its connection open.
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

function respond(response: ServerResponse, status: number, text: string, type = "text/plain; charset=utf-8"): void {
  response.statusCode = status;
  response.setHeader("content-type", type);
  response.setHeader("content-length", Buffer.byteLength(text));
  response.setHeader("cache-control", "no-store");
  response.end(text);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0;
}

/** Browsers always send Host; simple HTTP/1.0 health checks do not. */
function isLocalName(host: string | undefined): boolean {
  if (host === undefined) return true;
  const name = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host);
  const bare = name?.[1] ?? name?.[2] ?? "";
  return bare.toLowerCase() === "localhost" || isIP(bare) !== 0;
}
