/** Sends each request to its place: an RPC, a health page, the dashboard, or a plain refusal that says why. */
import { randomUUID } from "node:crypto";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import type { Log } from "../ops/log.ts";
import type { Metrics } from "../ops/metrics.ts";
import { createStreamWriter } from "./answer-stream.ts";
import { type BodyHold, type BodyRoom, bodyHoldKey } from "./body-room.ts";
import type { Listener, Request, Response } from "./http.ts";
import { answerPlain, plainForm } from "./plain-stream.ts";
import { blameCaller, refuseUnknownMethod } from "./refuse.ts";
import { requestIdKey } from "./router.ts";
import { safeHeaders } from "./safe-headers.ts";
import { tameTimeout } from "./timeout.ts";
import { type ShortCall, suitsShortWay } from "./unary-json.ts";
import { closeAfterUnreadBody, dropRest } from "./unread-body.ts";
import { withWritten } from "./written.ts";

export type Page = (request: Request, response: Response) => Promise<void> | void;

export type DispatchDeps = {
  log: Log;
  metrics: Metrics;
  rpcs: Map<string, UniversalHandler>;
  shortWay: Map<string, ShortCall>;
  /** Exact paths that are no RPC. */
  pages: Map<string, Page>;
  /** Everything else that may be asked with GET: the dashboard's files. */
  files: Page;
  corsOrigins: readonly string[];
  maxBodyBytes: number;
  /** Memory for the bodies of requests. */
  bodies: BodyRoom;
  /** A stream that is not read for this long is ended. */
  streamStallMs: number;
};

export function createDispatch(deps: DispatchDeps): Listener {
  const services = new Set([...deps.rpcs.keys()].map((path) => path.split("/")[1]!));

  return (request, response) => {
    const requestId = randomUUID();
    request.on("error", ignore);
    response.on("error", ignore);
    try {
      if (!takesShortWay(request, response, requestId)) route(request, response, requestId);
    } catch (error) {
      deps.log.error({ err: error, requestId }, "a request failed before it reached its place");
      plain(response, 500, "internal error\n");
    }
  };

  /** Nearly every request; whatever is not plainly of this kind is looked at closely. */
  function takesShortWay(request: Request, response: Response, requestId: string): boolean {
    const short = request.method === "POST" ? deps.shortWay.get(request.url!) : undefined;
    if (
      !short ||
      request.headers.origin !== undefined ||
      !suitsShortWay(request, deps.maxBodyBytes) ||
      !isHost(hostOf(request))
    )
      return false;
    goShort(short, request, response, requestId);
    return true;
  }

  function goShort(short: ShortCall, request: Request, response: Response, requestId: string): void {
    short(request, response, requestId).catch((error) => {
      deps.log.error({ err: error, requestId }, "a call failed where failures are told");
      response.destroy();
    });
  }

  function route(request: Request, response: Response, requestId: string): void {
    const safe = safeHeaders(requestId);
    for (let i = 0; i < safe.length; i += 2) response.setHeader(safe[i]!, safe[i + 1]!);
    const problem = brokenHead(request);
    if (problem) {
      deps.metrics.refusedConnections.inc({ reason: "head" });
      return plain(response, 400, problem);
    }
    const path = pathOf(request);
    const page = deps.pages.get(path);
    if (page) return run(page, request, response, requestId);
    const service = path.split("/")[1] ?? "";
    if (!services.has(service))
      return request.method === "GET" || request.method === "HEAD"
        ? run(deps.files, request, response, requestId)
        : plain(
            response,
            404,
            `Nothing lives at ${path.slice(0, 200)}. RPCs are POST /v1.EmailService/SendEmail and the like.\n`,
          );
    if (preflight(deps.corsOrigins, request, response)) return;
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      return plain(response, 405, "An RPC is called with POST.\n");
    }
    const handler = deps.rpcs.get(path);
    if (!handler) return refuseUnknownMethod(request, response, path);
    const short = deps.shortWay.get(path);
    if (short && suitsShortWay(request, deps.maxBodyBytes)) return goShort(short, request, response, requestId);
    void withWritten(() => callRpc(handler, request, response, requestId));
  }

  async function callRpc(
    handler: UniversalHandler,
    request: Request,
    response: Response,
    requestId: string,
  ): Promise<void> {
    const started = performance.now();
    const method = `${handler.service.name}/${handler.method.name}`;
    response.once("close", () => deps.metrics.requestSeconds.observe({ method }, (performance.now() - started) / 1000));
    const hold = deps.bodies.enter(sizeOf(request), () =>
      deps.metrics.requests.inc({ method, code: "resource_exhausted" }),
    );
    try {
      request.url = handler.requestPath;
      tameTimeout(request.headers);
      const values = createContextValues().set(requestIdKey, requestId).set(bodyHoldKey, hold);
      const universal = universalRequestFromNodeRequest(request as never, response as never, undefined, values);
      const stream =
        handler.method.methodKind === "server_streaming" && createStreamWriter(response, deps.streamStallMs);
      const call = stream ? { ...universal, signal: AbortSignal.any([universal.signal, stream.tooSlow]) } : universal;
      const answer = await blameCaller(await answerWithin(hold, inForm(request, handler), call, response), () =>
        deps.metrics.requests.inc({ method, code: "invalid_argument" }),
      );
      if (!stream) await dropRest(request);
      closeAfterUnreadBody(request, response);
      if (answer.status === 415) return plain(response, 415, unsupportedType);
      if (stream) await stream.write(answer, () => dropRest(request));
      else await universalResponseToNodeResponse(answer, response as never);
    } catch (error) {
      // The peer went away, or the body broke off: nobody is left to tell.
      if (ConnectError.from(error).code !== Code.Aborted)
        deps.log.debug({ requestId, method, reason: (error as Error).message }, "answer not delivered");
      if (!response.headersSent) plain(response, 400, "The request broke off.\n");
      else response.destroy();
    }
  }

  function run(page: Page, request: Request, response: Response, requestId: string): void {
    Promise.resolve(page(request, response)).catch((error) => {
      deps.log.error({ err: error, requestId }, "a page failed");
      if (!response.headersSent) plain(response, 500, "internal error\n");
      else response.destroy();
    });
  }
}

/** A peer that goes away in the middle is told of elsewhere. */
function ignore(): void {}

const unsupportedType =
  "Say what the body is: Content-Type: application/json for a call, application/connect+json for a stream, or the binary, gRPC and gRPC-Web forms of these.\n";

export function plain(response: Response, status: number, text: string): void {
  if (response.headersSent) return;
  response.statusCode = status;
  response.setHeader("content-type", "text/plain; charset=utf-8");
  response.setHeader("content-length", Buffer.byteLength(text));
  response.end(text);
}

type Handle = (request: UniversalServerRequest) => Promise<UniversalServerResponse>;

/** Answers in the form that was asked for: Connect's and gRPC's own, or one of the plain ones. */
function inForm(request: Request, handler: UniversalHandler): Handle {
  const form = plainForm(request, handler);
  return form ? (universal) => answerPlain(handler, universal, form) : handler;
}

/** The room for a body is free when its handler is done with it and the answer has gone: gRPC reads bodies only while it answers. */
function answerWithin(
  hold: BodyHold | undefined,
  handler: Handle,
  universal: UniversalServerRequest,
  response: Response,
): Promise<UniversalServerResponse> {
  if (!hold) return handler(universal);
  const body = hold.metered(universal.body as AsyncIterable<Uint8Array>);
  const answer = hold.run(() => handler({ ...universal, body }));
  const closed = new Promise<void>((resolve) => {
    if (response.destroyed) resolve();
    else response.once("close", resolve);
  });
  void Promise.allSettled([answer, closed]).then(() => hold.release());
  return answer;
}

/** What a request says about its own size, and whether its body is packed. */
function sizeOf({ headers }: Request): { declaredBytes: number | undefined; packed: boolean } {
  const length = headers["content-length"];
  const packings = [headers["content-encoding"], headers["connect-content-encoding"], headers["grpc-encoding"]];
  return {
    declaredBytes: length === undefined ? undefined : Number(length),
    packed: packings.some((packing) => packing !== undefined && packing !== "identity"),
  };
}

/** `/v1/v1.EmailService/SendEmail`, as one published sample writes it, is the same place. */
function pathOf(request: Request): string {
  const path = (request.url ?? "/").split(/[?#]/, 1)[0]!;
  return path.startsWith("/v1/v1.") ? path.slice(3) : path;
}

/** What would make the layers above throw: no authority, one that is no host, or a target that is no path. */
function brokenHead(request: Request): string | undefined {
  if (!isHost(hostOf(request))) return "The Host header is missing or is no host name.\n";
  if (!request.url?.startsWith("/") || !URL.canParse(request.url, "http://localhost"))
    return "The request target is no path.\n";
  return undefined;
}

function hostOf(request: Request): string | undefined {
  return "authority" in request ? request.authority : request.headers.host;
}

/** Reading a URL takes longer than all other looks at a head, and the hosts of a service are few. */
const knownHosts = new Set<string>();

function isHost(host: string | undefined): boolean {
  if (!host) return false;
  if (knownHosts.has(host)) return true;
  if (!URL.canParse(`http://${host}/`) || /[\s/\\?#@]/.test(host)) return false;
  if (knownHosts.size >= 100) knownHosts.clear();
  knownHosts.add(host);
  return true;
}

/** CORS only for origins the operator named; true when the request was a preflight and is answered. */
function preflight(origins: readonly string[], request: Request, response: Response): boolean {
  const origin = request.headers.origin;
  if (origin === undefined || !origins.includes(origin)) return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("vary", "origin");
  response.setHeader("cross-origin-resource-policy", "cross-origin");
  response.setHeader(
    "access-control-expose-headers",
    "x-request-id, retry-after, grpc-status, grpc-message, grpc-status-details-bin",
  );
  if (request.method !== "OPTIONS") return false;
  response.setHeader("access-control-allow-methods", "POST");
  response.setHeader(
    "access-control-allow-headers",
    "authorization, content-type, connect-protocol-version, connect-timeout-ms, idempotency-key, last-event-id, x-grpc-web, x-user-agent, grpc-timeout",
  );
  response.setHeader("access-control-max-age", "7200");
  response.statusCode = 204;
  response.end();
  return true;
}
