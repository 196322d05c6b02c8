/** The short way for nearly every call: a unary method asked for in Connect's JSON with a small body. The same gate, handlers and error
 * funnel as the way through Connect (router.ts), which takes everything else; docs/decisions/0008-short-way.md says what it saves. */
import { create, type DescMethod, toJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJson } from "@connectrpc/connect/protocol-connect";
import { type Call, withinDeadline } from "./call.ts";
import { codeName, toConnectError } from "./errors.ts";
import { admit } from "./gate.ts";
import { lingerMs, type Request, type Response } from "./http.ts";
import { createRequestReader } from "./read-json.ts";
import type { RouterDeps } from "./router.ts";
import type { ServiceEntry } from "./service.ts";
import { maxTimeoutMs } from "./timeout.ts";

export type ShortCall = (request: Request, response: Response, requestId: string) => Promise<void>;
type UnaryHandler = (request: unknown, call: Call) => Promise<unknown>;

/** Larger bodies are metered and refused in the middle; that is Connect's way. */
const smallBytes = 64 * 1024;

/** Whether a request is of the kind that the short way understands; every other goes through Connect. */
export function suitsShortWay({ headers }: Request): boolean {
  const type = headers["content-type"];
  if (type !== "application/json" && !/^application\/json; ?charset=utf-?8$/i.test(type ?? "")) return false;
  if (headers["content-encoding"] !== undefined || headers["transfer-encoding"] !== undefined) return false;
  return Number(headers["content-length"] ?? Number.NaN) <= smallBytes;
}

export function createShortWay(deps: RouterDeps, services: readonly ServiceEntry[]): Map<string, ShortCall> {
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

function shortCall(deps: RouterDeps, method: DescMethod, handler: UnaryHandler): ShortCall {
  const name = `${method.parent.name}/${method.name}`;
  const read = createRequestReader(method.input);
  return async (request, response, requestId) => {
    const started = performance.now();
    const life = new AbortController();
    const header = (wanted: string) => request.headers[wanted] as string | undefined;
    const deadline = startDeadline(header("connect-timeout-ms"), started, life);
    response.once("close", () => {
      clearTimeout(deadline?.timer);
      deps.metrics.requestSeconds.observe({ method: name }, (performance.now() - started) / 1000);
      if (!response.writableEnded) life.abort(new ConnectError("the caller went away", Code.Canceled));
    });
    const { signal } = life;
    // Read from the start: it is small, and a client that is still writing when it is refused would lose the answer.
    const bytes = readBody(request);
    bytes.catch(() => {});
    const timeLeftMs = () => deadline && deadline.atMs - performance.now();
    try {
      const caller = await admit(deps, { method, protocol: "connect", header, timeoutMs: timeLeftMs, signal });
      const message = read(await bytes);
      const answer = await withinDeadline({ caller, requestId, signal, timeLeftMs, header }, (call) =>
        handler(message, call),
      );
      const body = toJsonString(method.output, create(method.output, answer as never), writeOptions);
      deps.metrics.requests.inc({ method: name, code: "ok" });
      send(response, 200, body);
    } catch (error) {
      const failure = toConnectError(error, { log: deps.log, requestId, method: name });
      deps.metrics.requests.inc({ method: name, code: codeName(failure) });
      await atMost(lingerMs, bytes);
      for (const [key, value] of failure.metadata) response.setHeader(key, value);
      send(response, codeToHttpStatus(failure.code), JSON.stringify(errorToJson(failure, undefined)));
    }
  };
}

/** Unset fields are written out, so that a person with curl sees every documented field. */
const writeOptions = { alwaysEmitImplicit: true };

/** Values that are no deadline start none: the gate refuses them. */
function startDeadline(header: string | undefined, nowMs: number, life: AbortController) {
  if (header === undefined || !/^\d{1,10}$/.test(header)) return undefined;
  const ms = Number(header);
  const late = () => life.abort(new ConnectError("the deadline passed", Code.DeadlineExceeded));
  return { atMs: nowMs + ms, timer: ms <= maxTimeoutMs ? setTimeout(late, ms) : undefined };
}

/** Node itself holds the body to its declared length. */
async function readBody(request: Request): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    // Every request is closed in the end; only before its own end does that mean anything, and an error is dear to make.
    let whole = false;
    const brokenOff = () => whole || reject(new ConnectError("the request broke off", Code.Canceled));
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.once("end", () => {
      whole = true;
      resolve();
    });
    request.once("close", brokenOff);
    request.once("error", brokenOff);
  });
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
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

function send(response: Response, status: number, body: string): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  response.setHeader("content-type", "application/json");
  response.setHeader("content-length", Buffer.byteLength(body));
  response.end(body);
}
