/** `http` accepts every request on the API port and depends on no noun's folder. This file routes a request to an RPC, a page, the
 * dashboard or an error.
 * Parts: server.ts (the port), gate.ts (key, rate, permission), router.ts and unary-json.ts (RPCs), errors.ts (the error funnel).
 * Next: unary-json.ts, which serves nearly every call, then gate.ts. app/assemble.ts wires it all. */
import { randomUUID } from "node:crypto";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { universalRequestFromNodeRequest } from "@connectrpc/connect-node";
import type { Log } from "../ops/log.ts";
import type { Metrics } from "../ops/metrics.ts";
import type { LoopShare } from "../shares/loop-share.ts";
import { writeAnswer } from "./answer-body.ts";
import { createStreamWriter } from "./answer-stream.ts";
import { clientSite, exactAddress } from "./client-address.ts";
import { explainBadRequest, refuseUnknownMethod } from "./errors.ts";
import type { ForwardedShares } from "./forwarded.ts";
import { withLargeFields } from "./large-fields.ts";
import { answerPlain, plainForm } from "./plain-stream.ts";
import {
  type BodyMemory,
  type BodyReservation,
  type BodySize,
  bodyInTime,
  bodyReservationKey,
  closeAfterUnreadBody,
  dropRest,
} from "./request-body.ts";
import { addressKey, deadlineKey, onClosedKey, requestIdKey, siteKey } from "./router.ts";
import type { SafeHeaders } from "./safe-headers.ts";
import type { Listener, Request, Response } from "./server.ts";
import { streamOutputKey } from "./stream-output.ts";
import { dropOverlongTimeout, timeoutOf } from "./timeout.ts";
import { isUnaryJson, type UnaryCall } from "./unary-json.ts";
import { withRequestJson } from "./unknown-fields.ts";

export type PageHandler = (request: Request, response: Response) => Promise<void> | void;

export type DispatchDeps = {
  log: Log;
  metrics: Metrics;
  rpcs: Map<string, UniversalHandler>;
  unaryCalls: Map<string, UnaryCall>;
  /** Handlers for exact paths that are not RPCs. */
  pages: Map<string, PageHandler>;
  /** Handlers for all paths below a folder, such as `/unsubscribe/`. */
  folders?: ReadonlyMap<string, PageHandler>;
  /** Serves every other GET: the dashboard's files. */
  files: PageHandler;
  corsOrigins: readonly string[];
  maxBodyBytes: number;
  /** The memory budget for request bodies. */
  bodies: BodyMemory;
  /** Streams open one after the other, behind unary calls. */
  loop: LoopShare;
  safeHeaders: SafeHeaders;
  /** Judges requests that come through a proxy by the address that it forwards. */
  forwarded?: ForwardedShares;
  /** Ranges of our own proxies, in CIDR notation. */
  trustedProxies: readonly string[];
  /** A stream ends when its client reads nothing for this long. */
  streamStallMs: number;
};

export function createDispatch(deps: DispatchDeps): Listener {
  const services = new Set([...deps.rpcs.keys()].map((path) => path.split("/")[1]!));

  return (request, response) => {
    const requestId = randomUUID();
    request.on("error", ignore);
    response.on("error", ignore);
    try {
      if (deps.forwarded && !deps.forwarded.admit(request, response)) return void request.resume();
      if (!serveUnaryJson(request, response, requestId)) route(request, response, requestId);
    } catch (error) {
      deps.log.error({ err: error, requestId }, "request failed before it was dispatched");
      sendText(response, 500, "internal error\n");
    }
  };

  /** The fast path for nearly every request. Returns false for all others, which `route` examines in full. */
  function serveUnaryJson(request: Request, response: Response, requestId: string): boolean {
    const unary = request.method === "POST" ? deps.unaryCalls.get(request.url!) : undefined;
    if (
      !unary ||
      request.headers.origin !== undefined ||
      !isUnaryJson(request, deps.maxBodyBytes) ||
      !isHost(hostOf(request))
    )
      return false;
    runUnary(unary, request, response, requestId);
    return true;
  }

  function runUnary(unary: UnaryCall, request: Request, response: Response, requestId: string): void {
    unary(request, response, requestId).catch((error) => {
      deps.log.error({ err: error, requestId }, "error handling of a call failed");
      response.destroy();
    });
  }

  function route(request: Request, response: Response, requestId: string): void {
    const safe = deps.safeHeaders(request, requestId);
    for (let i = 0; i < safe.length; i += 2) response.setHeader(safe[i]!, safe[i + 1]!);
    const problem = brokenHead(request);
    if (problem) {
      deps.metrics.brokenRequests.inc({ reason: "head" });
      return sendText(response, 400, problem);
    }
    const path = pathOf(request);
    const page = deps.pages.get(path) ?? deps.folders?.get(path.slice(0, path.indexOf("/", 1) + 1));
    if (page) return run(page, request, response, requestId);
    const service = path.split("/")[1] ?? "";
    if (!services.has(service))
      return request.method === "GET" || request.method === "HEAD"
        ? run(deps.files, request, response, requestId)
        : sendText(
            response,
            404,
            `There is no endpoint at ${path.slice(0, 200)}. RPC paths have the form /v1.EmailService/SendEmail.\n`,
          );
    if (preflight(deps.corsOrigins, request, response)) return;
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      return sendText(response, 405, "Call RPCs with POST.\n");
    }
    const handler = deps.rpcs.get(path);
    if (!handler) return refuseUnknownMethod(request, response, path);
    const unary = deps.unaryCalls.get(path);
    if (unary && isUnaryJson(request, deps.maxBodyBytes)) return runUnary(unary, request, response, requestId);
    void withRequestJson(() => withLargeFields(() => callRpc(handler, request, response, requestId)));
  }

  async function callRpc(
    handler: UniversalHandler,
    request: Request,
    response: Response,
    requestId: string,
  ): Promise<void> {
    const started = performance.now();
    const method = `${handler.service.name}/${handler.method.name}`;
    const streams = handler.method.methodKind === "server_streaming";
    // Clients of a node that went away come back at once, and opening a thousand streams takes half a second.
    // Turns go by the client's network: the gate has not checked the key yet, and a stranger could name a new one for each stream.
    if (streams) await deps.loop.turn(clientSite(request, deps.trustedProxies));
    else response.once("close", deps.loop.beginShortCall());
    if (response.destroyed) return;
    response.once("close", () => deps.metrics.requestSeconds.observe({ method }, (performance.now() - started) / 1000));
    const reservation = deps.bodies.track(sizeOf(request), () =>
      deps.metrics.requests.inc({ method, code: "resource_exhausted" }),
    );
    try {
      request.url = handler.requestPath;
      dropOverlongTimeout(request.headers);
      const stream = streams && createStreamWriter(response, deps.streamStallMs);
      const deadlineMs = started + (timeoutOf(request.headers) ?? Number.POSITIVE_INFINITY);
      const values = createContextValues().set(requestIdKey, requestId).set(bodyReservationKey, reservation);
      values.set(deadlineKey, deadlineMs).set(onClosedKey, onClosed(response));
      values.set(siteKey, () => clientSite(request, deps.trustedProxies));
      values.set(addressKey, () => exactAddress(request, deps.trustedProxies));
      if (stream) values.set(streamOutputKey, stream.output);
      const received = universalRequestFromNodeRequest(request as never, response as never, undefined, values);
      const onLate = () => deps.metrics.requests.inc({ method, code: "deadline_exceeded" });
      const body = bodyInTime(received.body as AsyncIterable<Uint8Array>, deadlineMs, onLate);
      const universal = { ...received, body };
      const call = stream ? { ...universal, signal: AbortSignal.any([universal.signal, stream.tooSlow]) } : universal;
      const answer = await explainBadRequest(
        await answerReserved(reservation, inForm(request, handler), call, response),
        () => deps.metrics.requests.inc({ method, code: "invalid_argument" }),
      );
      if (!stream) await dropRest(request);
      closeAfterUnreadBody(request, response);
      if (answer.status === 415) return sendText(response, 415, unsupportedType);
      if (stream) await stream.write(answer, () => dropRest(request));
      else await writeAnswer(response, answer);
    } catch (error) {
      // The client disconnected or the body ended early, so no answer can reach the client.
      if (ConnectError.from(error).code !== Code.Aborted)
        deps.log.debug({ requestId, method, reason: (error as Error).message }, "response not delivered");
      if (!response.headersSent) sendText(response, 400, "The request ended before its body was complete.\n");
      else response.destroy();
    }
  }

  function run(page: PageHandler, request: Request, response: Response, requestId: string): void {
    Promise.resolve(page(request, response)).catch((error) => {
      deps.log.error({ err: error, requestId }, "page handler failed");
      if (!response.headersSent) sendText(response, 500, "internal error\n");
      else response.destroy();
    });
  }
}

/** Disconnects are handled by the response's close event. */
function ignore(): void {}

const unsupportedType =
  "Unsupported Content-Type. Send application/json for a unary call, application/connect+json for a stream, or their binary, gRPC or gRPC-Web forms.\n";

/** Answers with a line of text, unless an answer has been started. */
export function sendText(response: Response, status: number, text: string): void {
  if (response.headersSent) return;
  response.statusCode = status;
  response.setHeader("content-type", "text/plain; charset=utf-8");
  response.setHeader("content-length", Buffer.byteLength(text));
  response.end(text);
}

/** Returns a function that calls its listener when the response is closed, or at once if it is. */
function onClosed(response: Response): (listener: () => void) => void {
  let closed = response.destroyed;
  response.once("close", () => {
    closed = true;
  });
  return (listener) => {
    if (closed) listener();
    else response.once("close", listener);
  };
}

type Handle = (request: UniversalServerRequest) => Promise<UniversalServerResponse>;

/** A handler that answers in the client's format: Connect or gRPC, or lines or server-sent events for a plain JSON request. */
function inForm(request: Request, handler: UniversalHandler): Handle {
  const form = plainForm(request, handler);
  return form ? (universal) => answerPlain(handler, universal, form) : handler;
}

/** Releases the body's memory when the handler is done and the response is closed: gRPC reads the body only while it answers. */
function answerReserved(
  reservation: BodyReservation | undefined,
  handler: Handle,
  universal: UniversalServerRequest,
  response: Response,
): Promise<UniversalServerResponse> {
  if (!reservation) return handler(universal);
  const body = reservation.metered(universal.body as AsyncIterable<Uint8Array>);
  const answer = reservation.run(() => handler({ ...universal, body }));
  const closed = new Promise<void>((resolve) => {
    if (response.destroyed) resolve();
    else response.once("close", resolve);
  });
  void Promise.allSettled([answer, closed]).then(() => reservation.release());
  return answer;
}

/** The body's size by its Content-Length, and whether the body is compressed. */
function sizeOf({ headers }: Request): BodySize {
  const length = headers["content-length"];
  const encodings = [headers["content-encoding"], headers["connect-content-encoding"], headers["grpc-encoding"]];
  return {
    declaredBytes: length === undefined ? undefined : Number(length),
    compressed: encodings.some((encoding) => encoding !== undefined && encoding !== "identity"),
  };
}

/** The path without the query. One published sample has `/v1/v1.EmailService/SendEmail`, so the extra prefix is accepted. */
function pathOf(request: Request): string {
  const path = (request.url ?? "/").split(/[?#]/, 1)[0]!;
  return path.startsWith("/v1/v1.") ? path.slice(3) : path;
}

/** Detects what makes Connect throw: a missing or invalid host, or a request target that is not a path. */
function brokenHead(request: Request): string | undefined {
  if (!isHost(hostOf(request))) return "The Host header is missing or is not a valid host name.\n";
  if (!request.url?.startsWith("/") || !URL.canParse(request.url, "http://localhost"))
    return "The request target must be a path.\n";
  return undefined;
}

function hostOf(request: Request): string | undefined {
  return "authority" in request ? request.authority : request.headers.host;
}

/** A cache: parsing a URL takes longer than all other checks of a header, and a service has few host names. */
const knownHosts = new Set<string>();

function isHost(host: string | undefined): boolean {
  if (!host) return false;
  if (knownHosts.has(host)) return true;
  if (!URL.canParse(`http://${host}/`) || /[\s/\\?#@]/.test(host)) return false;
  if (knownHosts.size >= 100) knownHosts.clear();
  knownHosts.add(host);
  return true;
}

/** Adds CORS headers for origins that the operator allowed. Returns true when it answered a preflight. */
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
