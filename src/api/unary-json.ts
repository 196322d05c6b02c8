/** The short way for nearly every call: a unary method asked for in Connect's JSON, with a body whose length is told. The same gate, handlers and error
 * funnel as the way through Connect (router.ts), which takes everything else; docs/decisions/0008-short-way.md says what it saves. */
import type { ServerResponse } from "node:http";
import { create, type DescMethod, toJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJson } from "@connectrpc/connect/protocol-connect";
import type { BodyRoom } from "./body-room.ts";
import { type Call, withinDeadline } from "./call.ts";
import { codeName, toConnectError } from "./errors.ts";
import { admit } from "./gate.ts";
import { lingerMs, type Request, type Response } from "./http.ts";
import { CallLife, type Life } from "./life.ts";
import { createRequestReader } from "./read-json.ts";
import type { RouterDeps } from "./router.ts";
import { safeHeaders } from "./safe-headers.ts";
import type { ServiceEntry } from "./service.ts";
import { maxTimeoutMs } from "./timeout.ts";
import { closeAfterUnreadBody } from "./unread-body.ts";

export type ShortCall = (request: Request, response: Response, requestId: string) => Promise<void>;
type UnaryHandler = (request: unknown, call: Call) => Promise<unknown>;

/** Whether a request is of the kind that the short way understands; every other goes through Connect. */
export function suitsShortWay({ headers }: Request, maxBodyBytes: number): boolean {
  const type = headers["content-type"];
  if (type !== "application/json" && !/^application\/json; ?charset=utf-?8$/i.test(type ?? "")) return false;
  if (headers["content-encoding"] !== undefined || headers["transfer-encoding"] !== undefined) return false;
  return Number(headers["content-length"] ?? Number.NaN) <= maxBodyBytes;
}

export type ShortWayDeps = RouterDeps & { bodies: BodyRoom };

export function createShortWay(deps: ShortWayDeps, services: readonly ServiceEntry[]): Map<string, ShortCall> {
  const calls = new Map<string, ShortCall>();
  for (const { service, handlers } of services) {
    for (const method of service.methods) {
      const handler = handlers[method.localName];
      if (method.methodKind !== "unary" || !handler) continue;
      calls.set(`/${service.typeName}/${method.name}`, shortCall(deps, method, handler as UnaryHandler));
    }
  }
  return calls;
}

function shortCall(deps: ShortWayDeps, method: DescMethod, handler: UnaryHandler): ShortCall {
  const name = `${method.parent.name}/${method.name}`;
  const read = createRequestReader(method.input);
  return async (request, response, requestId) => {
    const started = performance.now();
    const life = new CallLife();
    const header = (wanted: string) => request.headers[wanted] as string | undefined;
    const deadline = startDeadline(header("connect-timeout-ms"), started, life);
    response.once("close", () => {
      clearTimeout(deadline?.timer);
      deps.metrics.requestSeconds.observe({ method: name }, (performance.now() - started) / 1000);
      if (!response.writableEnded) life.end("caller left");
    });
    const length = Number(request.headers["content-length"]);
    const hold = deps.bodies.enter({ declaredBytes: length, packed: false }, () => {});
    // A small body is read from the start: a client that is still writing when it is refused would lose the answer.
    const small = hold ? undefined : readBody(request, life);
    small?.catch(() => {});
    const timeLeftMs = () => deadline && deadline.atMs - performance.now();
    try {
      const caller = await admit(deps, { method, protocol: "connect", header, timeoutMs: timeLeftMs, life });
      hold?.admit(caller.workspaceId);
      const message = read(await (small ?? readLargeBody(request, length, life)));
      const answer = await withinDeadline({ caller, requestId, life, timeLeftMs, header }, (call) =>
        handler(message, call),
      );
      const body = toJsonString(method.output, create(method.output, answer as never), writeOptions);
      deps.metrics.requests.inc({ method: name, code: "ok" });
      send(response, 200, headersFor(response, requestId), body);
    } catch (error) {
      const failure = toConnectError(error, { log: deps.log, requestId, method: name });
      deps.metrics.requests.inc({ method: name, code: codeName(failure) });
      if (small) await atMost(lingerMs, small);
      else closeAfterUnreadBody(request, response);
      const headers = [...headersFor(response, requestId), ...[...failure.metadata].flat()];
      send(response, codeToHttpStatus(failure.code), headers, JSON.stringify(errorToJson(failure, undefined)));
    } finally {
      hold?.release();
    }
  };
}

/** Where somebody has set header fields already, those of every answer are among them. */
function headersFor(response: Response, requestId: string): string[] {
  return response.hasHeader("x-request-id") ? [] : safeHeaders(requestId);
}

/** Unset fields are written out, so that a person with curl sees every documented field. */
const writeOptions = { alwaysEmitImplicit: true };

/** Values that are no deadline start none: the gate refuses them. */
function startDeadline(header: string | undefined, nowMs: number, life: { end(why: "deadline passed"): void }) {
  if (header === undefined || !/^\d{1,10}$/.test(header)) return undefined;
  const ms = Number(header);
  const late = () => life.end("deadline passed");
  return { atMs: nowMs + ms, timer: ms <= maxTimeoutMs ? setTimeout(late, ms) : undefined };
}

/** Node itself holds the body to its declared length. */
async function readBody(request: Request, life: Life): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  await readChunks(request, life, (chunk) => chunks.push(chunk));
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** Put together as it comes, so that it is in memory once. */
async function readLargeBody(request: Request, length: number, life: Life): Promise<Uint8Array> {
  const body = Buffer.allocUnsafeSlow(length);
  let at = 0;
  await readChunks(request, life, (chunk) => {
    at += chunk.copy(body, at);
  });
  return body.subarray(0, at);
}

/** Until the end, or until the call is over: then no more is taken, and what has come is let go of. */
function readChunks(request: Request, life: Life, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (how: () => void) => {
      unsubscribe();
      request.off("data", take).off("end", whole).off("close", brokenOff).off("error", brokenOff);
      how();
    };
    const whole = () => settle(resolve);
    const brokenOff = () => settle(() => reject(new ConnectError("the request broke off", Code.Canceled)));
    const unsubscribe = life.onOver(() => {
      request.pause();
      settle(() => reject(life.over()));
    });
    request.on("data", take).on("end", whole).on("close", brokenOff).on("error", brokenOff);
  });
}

/** Until it has ended, well or badly, or the time is over. */
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
  // All at once: one by one they take three times as long.
  (response as ServerResponse).writeHead(status, headers);
  response.end(body);
}
