/** The fast path for nearly every call: a unary method in Connect's JSON with a Content-Length. It has the same gate, handlers and error
 * funnel as router.ts, which serves everything else. docs/decisions/0008-unary-json.md has the measurements. Called by dispatch.ts. */
import type { ServerResponse } from "node:http";
import { create, type DescMethod, toJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJson } from "@connectrpc/connect/protocol-connect";
import type { ServiceEntry } from "./call.ts";
import { type Call, CallCancellation, type Cancellation, withinDeadline } from "./call.ts";
import { codeName, toConnectError } from "./errors.ts";
import { admit } from "./gate.ts";
import { createRequestReader } from "./read-json.ts";
import type { BodyMemory } from "./request-body.ts";
import { closeAfterUnreadBody } from "./request-body.ts";
import type { RouterDeps } from "./router.ts";
import { safeHeaders } from "./safe-headers.ts";
import { lingerMs, type Request, type Response } from "./server.ts";
import { jsonWriteOptions } from "./stream-output.ts";
import { maxTimeoutMs, timeoutOf } from "./timeout.ts";

export type UnaryCall = (request: Request, response: Response, requestId: string) => Promise<void>;
type UnaryHandler = (request: unknown, call: Call) => Promise<unknown>;

/** Whether this file can serve the request. All others go through router.ts. */
export function isUnaryJson({ headers }: Request, maxBodyBytes: number): boolean {
  const type = headers["content-type"];
  if (type !== "application/json" && !/^application\/json; ?charset=utf-?8$/i.test(type ?? "")) return false;
  if (headers["content-encoding"] !== undefined || headers["transfer-encoding"] !== undefined) return false;
  return Number(headers["content-length"] ?? Number.NaN) <= maxBodyBytes;
}

export type UnaryDeps = RouterDeps & { bodies: BodyMemory };

export function createUnaryCalls(deps: UnaryDeps, services: readonly ServiceEntry[]): Map<string, UnaryCall> {
  const calls = new Map<string, UnaryCall>();
  for (const { service, handlers } of services) {
    for (const method of service.methods) {
      const handler = handlers[method.localName];
      if (method.methodKind !== "unary" || !handler) continue;
      calls.set(`/${service.typeName}/${method.name}`, unaryCall(deps, method, handler as UnaryHandler));
    }
  }
  return calls;
}

function unaryCall(deps: UnaryDeps, method: DescMethod, handler: UnaryHandler): UnaryCall {
  const methodName = `${method.parent.name}/${method.name}`;
  const read = createRequestReader(method.input);
  return async (request, response, requestId) => {
    const started = performance.now();
    const header = (name: string) => request.headers[name] as string | undefined;
    const timeoutMs = timeoutOf(request.headers);
    const cancellation = new CallCancellation(timeoutMs === undefined ? undefined : started + timeoutMs);
    const late = () => cancellation.end("deadline passed");
    // The gate rejects a longer timeout.
    const timer = timeoutMs !== undefined && timeoutMs <= maxTimeoutMs ? setTimeout(late, timeoutMs) : undefined;
    response.once("close", () => {
      clearTimeout(timer);
      deps.metrics.requestSeconds.observe({ method: methodName }, (performance.now() - started) / 1000);
      if (!response.writableEnded) cancellation.end("caller left");
    });
    const length = Number(request.headers["content-length"]);
    const reservation = deps.bodies.track({ declaredBytes: length, compressed: false }, () => {});
    // A small body is read at once: a client that is still writing when the gate rejects it would lose the response.
    const small = reservation ? undefined : readBody(request, cancellation);
    small?.catch(() => {});
    const timeLeftMs = () => (timeoutMs === undefined ? undefined : started + timeoutMs - performance.now());
    try {
      const caller = await admit(deps, { method, protocol: "connect", header, timeoutMs: timeLeftMs, cancellation });
      reservation?.reserve(caller.workspaceId);
      const message = read(await (small ?? readLargeBody(request, length, cancellation)));
      const answer = await withinDeadline({ caller, requestId, cancellation, timeLeftMs, header }, (call) =>
        handler(message, call),
      );
      const text = toJsonString(method.output, create(method.output, answer as never), jsonWriteOptions);
      deps.metrics.requests.inc({ method: methodName, code: "ok" });
      send(response, 200, missingHeaders(response, requestId), text);
    } catch (error) {
      const failure = toConnectError(error, { log: deps.log, requestId, method: methodName, header });
      deps.metrics.requests.inc({ method: methodName, code: codeName(failure) });
      if (small) await atMost(lingerMs, small);
      else closeAfterUnreadBody(request, response);
      const headers = [...missingHeaders(response, requestId), ...[...failure.metadata].flat()];
      send(response, codeToHttpStatus(failure.code), headers, JSON.stringify(errorToJson(failure, undefined)));
    } finally {
      reservation?.release();
    }
  };
}

/** The header fields of every answer, unless dispatch.ts has set them. */
function missingHeaders(response: Response, requestId: string): string[] {
  return response.hasHeader("x-request-id") ? [] : safeHeaders(requestId);
}

/** Reads a small body. Node enforces its declared length. */
async function readBody(request: Request, cancellation: Cancellation): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  await readChunks(request, cancellation, (chunk) => chunks.push(chunk));
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** Reads a large body into one buffer, so that it is in memory only once. */
async function readLargeBody(request: Request, length: number, cancellation: Cancellation): Promise<Uint8Array> {
  const body = Buffer.allocUnsafeSlow(length);
  let at = 0;
  await readChunks(request, cancellation, (chunk) => {
    at += chunk.copy(body, at);
  });
  return body.subarray(0, at);
}

/** Reads until the body ends or the call is canceled. On cancellation it pauses the request and drops its listeners. */
function readChunks(request: Request, cancellation: Cancellation, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (act: () => void) => {
      unsubscribe();
      request.off("data", take).off("end", onEnd).off("close", onBroken).off("error", onBroken);
      act();
    };
    const onEnd = () => finish(resolve);
    const onBroken = () =>
      finish(() => reject(new ConnectError("the request ended before its body was complete", Code.Canceled)));
    const unsubscribe = cancellation.onCancel(() => {
      request.pause();
      finish(() => reject(cancellation.reason()));
    });
    request.on("data", take).on("end", onEnd).on("close", onBroken).on("error", onBroken);
  });
}

/** Waits until the work has succeeded or failed, but no longer than `ms`. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.then(() => {}).catch(() => {}), late]);
  clearTimeout(timer);
}

function send(response: Response, status: number, headers: string[], body: string): void {
  if (response.headersSent || response.destroyed) return;
  headers.push("content-type", "application/json", "content-length", String(Buffer.byteLength(body)));
  // One writeHead with all fields: setting each field takes three times as long.
  (response as ServerResponse).writeHead(status, headers);
  response.end(body);
}
