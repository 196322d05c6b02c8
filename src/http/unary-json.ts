/** The fast path for nearly every call: a unary method in Connect's JSON with a Content-Length. It has the same gate, handlers and error
 * funnel as router.ts, which serves everything else. docs/decisions/0008-unary-json.md has the measurements. Called by dispatch.ts. */
import type { ServerResponse } from "node:http";
import { create, type DescMethod, toJsonString } from "@bufbuild/protobuf";
import { codeToHttpStatus, errorToJson } from "@connectrpc/connect/protocol-connect";
import { writeBody } from "./answer-body.ts";
import { createJsonEncoder, encodeSlices } from "./answer-json.ts";
import { type AnswerHold, largeAnswerBytes } from "./answer-memory.ts";
import type { ServiceEntry } from "./call.ts";
import { type Call, CallCancellation, withinDeadline } from "./call.ts";
import { ownerOf } from "./call-shares.ts";
import type { Caller } from "./caller.ts";
import { clientSite, exactAddress } from "./client-address.ts";
import { codeName, isReadOnly, toConnectError } from "./errors.ts";
import { admit } from "./gate.ts";
import { createRequestReader } from "./read-json.ts";
import type { BodyMemory } from "./request-body.ts";
import { closeAfterUnreadBody } from "./request-body.ts";
import type { RouterDeps } from "./router.ts";
import type { SafeHeaders } from "./safe-headers.ts";
import { lingerMs, type Request, type Response } from "./server.ts";
import { jsonWriteOptions } from "./stream-output.ts";
import { maxTimeoutMs, timeoutOf } from "./timeout.ts";
import { readBody, readLargeBody } from "./unary-body.ts";

export type UnaryCall = (request: Request, response: Response, requestId: string) => Promise<void>;
type UnaryHandler = (request: unknown, call: Call) => Promise<unknown>;

/** Whether this file can serve the request. All others go through router.ts. */
export function isUnaryJson({ headers }: Request, maxBodyBytes: number): boolean {
  const type = headers["content-type"];
  if (type !== "application/json" && !/^application\/json; ?charset=utf-?8$/i.test(type ?? "")) return false;
  if (headers["content-encoding"] !== undefined || headers["transfer-encoding"] !== undefined) return false;
  return Number(headers["content-length"] ?? Number.NaN) <= maxBodyBytes;
}

export type UnaryDeps = RouterDeps & {
  bodies: BodyMemory;
  safeHeaders: SafeHeaders;
  /** Ranges of our own proxies, in CIDR notation. */
  trustedProxies: readonly string[];
};

/** The parsing of a larger body waits for its turn on the event loop, which it blocks for some milliseconds. */
const longParseBytes = 1024 * 1024;

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
  const encoder = createJsonEncoder(method.output);
  // The answer to a call that has stored something must not be refused. Such answers are short.
  const countsAnswers = isReadOnly(method);
  return async (request, response, requestId) => {
    const started = performance.now();
    const header = (name: string) => request.headers[name] as string | undefined;
    const timeoutMs = timeoutOf(request.headers);
    const cancellation = new CallCancellation(timeoutMs === undefined ? undefined : started + timeoutMs);
    const late = () => cancellation.end("deadline passed");
    // The gate rejects a longer timeout.
    const timer = timeoutMs !== undefined && timeoutMs <= maxTimeoutMs ? setTimeout(late, timeoutMs) : undefined;
    let owner: string | undefined;
    let admitted = false;
    let pausedMs = 0;
    const endShortCall = deps.loop.beginShortCall();
    let endCall: (() => void) | undefined;
    let hold: AnswerHold | undefined;
    response.once("close", () => {
      clearTimeout(timer);
      endShortCall();
      endCall?.();
      hold?.release();
      deps.metrics.requestSeconds.observe({ method: methodName }, (performance.now() - started - pausedMs) / 1000);
      if (!response.writableEnded) cancellation.end("caller left");
    });
    const length = Number(request.headers["content-length"]);
    const reservation = deps.bodies.track({ declaredBytes: length, compressed: false }, () => {});
    // A small body is read at once: a client that is still writing when the gate rejects it would lose the response.
    let small = reservation ? undefined : readBody(request, cancellation);
    small?.catch(() => {});
    const timeLeftMs = () => (timeoutMs === undefined ? undefined : started + timeoutMs - performance.now());
    /** The header fields of every answer, unless dispatch.ts has set them. */
    const missingHeaders = () => (response.hasHeader("x-request-id") ? [] : deps.safeHeaders(request, requestId));
    try {
      const onCaller = (known: Caller) => {
        owner = ownerOf(known);
      };
      const address = () => exactAddress(request, deps.trustedProxies);
      const gate = { method, protocol: "connect", header, address, timeoutMs: timeLeftMs, cancellation, onCaller };
      const caller = await admit(deps, gate);
      admitted = true;
      const workspace = ownerOf(caller);
      endCall = deps.calls.begin(caller);
      // Opened before the handler runs, so that an abandoned handler finds it released.
      const answerHold = deps.answers.open(workspace, cancellation);
      hold = answerHold;
      reservation?.reserve(workspace);
      const body = await (small ?? readLargeBody(request, length, cancellation));
      if (body.length > longParseBytes) await deps.loop.turn(workspace);
      const message = read(body);
      const reserveAnswer = (bytes: number) => answerHold.hold(bytes);
      const context = { caller, requestId, cancellation, timeLeftMs, header, reserveAnswer };
      const answer = create(method.output, (await withinDeadline(context, (call) => handler(message, call))) as never);
      const large = encoder.largeFields(answer);
      const text = large.length > 0 ? "" : toJsonString(method.output, answer, jsonWriteOptions);
      const largeBytes = large.reduce((sum, { value }) => sum + value.length, text.length);
      if (countsAnswers && (answerHold.heldBytes() > 0 || largeBytes > largeAnswerBytes))
        await answerHold.hold(largeBytes, { isLoaded: true });
      deps.metrics.requests.inc({ method: methodName, code: "ok" });
      if (largeBytes <= largeAnswerBytes) return send(response, 200, missingHeaders(), text);
      reservation?.release();
      const pieces = large.length > 0 ? encoder.pieces(answer, large) : [text];
      await sendSlices(
        response,
        missingHeaders(),
        encodeSlices(pieces, () => deps.loop.turn(workspace)),
      );
    } catch (error) {
      const failure = toConnectError(error, { log: deps.log, requestId, method: methodName, header });
      deps.metrics.requests.inc({ method: methodName, code: codeName(failure) });
      hold?.release();
      if (response.headersSent) return void response.destroy();
      if (small) await atMost(lingerMs, small);
      const hasSmallBody = small !== undefined;
      // While the answer waits, the call holds nothing that others could use.
      small = undefined;
      reservation?.release();
      endShortCall();
      endCall?.();
      const failedAtMs = performance.now();
      await deps.refusals.pace({
        owner: owner ?? clientSite(request, deps.trustedProxies),
        admitted,
        error: failure,
        onClosed: (listener) => void (response.destroyed ? listener() : response.once("close", listener)),
      });
      pausedMs = performance.now() - failedAtMs;
      if (!hasSmallBody) closeAfterUnreadBody(request, response);
      const headers = [...missingHeaders(), ...[...failure.metadata].flat()];
      send(response, codeToHttpStatus(failure.code), headers, JSON.stringify(errorToJson(failure, undefined)));
    } finally {
      reservation?.release();
    }
  };
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

/** Sends a large answer slice by slice, as its client reads. */
async function sendSlices(response: Response, headers: string[], slices: AsyncIterable<Uint8Array>): Promise<void> {
  if (response.headersSent || response.destroyed) return;
  headers.push("content-type", "application/json");
  (response as ServerResponse).writeHead(200, headers);
  await writeBody(response, slices);
}
