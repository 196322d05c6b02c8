/** Serves the handlers over Connect, gRPC and gRPC-Web: the gate runs before a body is read, and every handler runs with a deadline and the
 * error funnel. Called by dispatch.ts for streams, gRPC and every request that unary-json.ts does not take. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, createConnectRouter, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import type { Log } from "../ops/log.ts";
import type { Metrics } from "../ops/metrics.ts";
import type { LoopShare } from "../shares/loop-share.ts";
import type { AnswerHold, AnswerMemory } from "./answer-memory.ts";
import type { ServiceEntry } from "./call.ts";
import { type Call, cancellationOf, withinDeadline } from "./call.ts";
import { type CallShares, ownerOf } from "./call-shares.ts";
import type { Caller } from "./caller.ts";
import { codeName, toConnectError } from "./errors.ts";
import { admit, type GateDeps } from "./gate.ts";
import { createAnswerPreparer, largeFieldEncoder } from "./large-fields.ts";
import { createJsonReader } from "./read-json.ts";
import type { RefusalPace } from "./refusals.ts";
import { bodyReservationKey, countDecompressed } from "./request-body.ts";
import { jsonWriteOptions, streamOutputKey } from "./stream-output.ts";
import { maxTimeoutMs } from "./timeout.ts";
import { rememberNotedJson } from "./unknown-fields.ts";

export type RouterDeps = GateDeps & {
  log: Log;
  metrics: Metrics;
  maxBodyBytes: number;
  /** The shares of workspaces in the calls in progress, in the memory of large answers, and in the event loop. */
  calls: CallShares;
  answers: AnswerMemory;
  loop: LoopShare;
  refusals: RefusalPace;
  /** Ends streams when the node shuts down. Unary calls in progress are finished. */
  shutdown: AbortSignal;
};

export const requestIdKey = createContextKey("", { description: "request id" });
/** When the deadline passes, as a value of performance.now(). Connect's own time left depends on the clock of the day, which may be set. */
export const deadlineKey = createContextKey(Number.POSITIVE_INFINITY, { description: "deadline" });
/** The client's network. */
export const siteKey = createContextKey<() => string>(() => "", { description: "client site" });
/** The client's exact address. */
export const addressKey = createContextKey<() => string>(() => "", { description: "client address" });
/** The workspace of the caller, once the gate knows it. */
const ownerKey = createContextKey("", { description: "owner" });
/** Set when the gate has let the call in. */
const callerKey = createContextKey<Caller | undefined>(undefined, { description: "caller" });
const answerHoldKey = createContextKey<AnswerHold | undefined>(undefined, { description: "memory for the answer" });
/** Calls a function when the response is closed, or at once if it is. */
export const onClosedKey = createContextKey<(listener: () => void) => void>(() => {}, { description: "on closed" });

export function createRouter(deps: RouterDeps, services: readonly ServiceEntry[]): Map<string, UniversalHandler> {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip, compressionBrotli].map(countDecompressed),
    readMaxBytes: deps.maxBodyBytes,
    maxTimeoutMs,
    requireConnectProtocolHeader: true,
    requestGate: (context) => admitCall(deps, context),
  });
  for (const { service, handlers } of services) {
    for (const method of service.methods) {
      const handler = handlers[method.localName];
      const served = handler ? wrap(deps, method, handler as AnyHandler) : unimplemented(method);
      router.rpc(method, served as never, { jsonOptions: jsonOptions(deps, method) });
    }
  }
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

/** Unknown fields of requests are ignored. */
function jsonOptions(deps: RouterDeps, method: DescMethod) {
  const labels = { method: `${method.parent.name}/${method.name}`, code: "invalid_argument" };
  const textDecoder = createJsonReader(method.input, () => deps.metrics.requests.inc(labels));
  return { ...jsonWriteOptions, ignoreUnknownFields: true, textDecoder, textEncoder: largeFieldEncoder };
}

type AnyHandler = (request: unknown, call: Call) => Promise<unknown> | AsyncIterable<unknown>;

async function admitCall(deps: RouterDeps, context: HandlerContext): Promise<void> {
  const cancellation = cancellationOf(context.signal, context.values.get(deadlineKey));
  try {
    const caller = await admit(deps, {
      method: context.method,
      protocol: context.protocolName,
      header: (name) => context.requestHeader.get(name) ?? undefined,
      address: context.values.get(addressKey),
      timeoutMs: () => context.timeoutMs(),
      cancellation,
      onCaller: (known) => context.values.set(ownerKey, ownerOf(known)),
    });
    context.values.set(callerKey, caller);
    if (context.method.methodKind === "unary") {
      const onClosed = context.values.get(onClosedKey);
      onClosed(deps.calls.begin(caller));
      const hold = deps.answers.open(ownerOf(caller), cancellation);
      context.values.set(answerHoldKey, hold);
      onClosed(hold.release);
    }
    context.values.get(bodyReservationKey)?.reserve(ownerOf(caller));
  } catch (error) {
    throw await toCountedError(deps, context, error);
  }
}

function wrap(deps: RouterDeps, method: DescMethod, handler: AnyHandler) {
  if (method.methodKind === "unary") {
    const prepare = createAnswerPreparer(method, deps.loop);
    return async (request: unknown, context: HandlerContext) => {
      const hold = context.values.get(answerHoldKey)!;
      try {
        rememberNotedJson(request as object);
        const handled = await withinDeadline(
          { ...callFrom(context), reserveAnswer: hold.hold },
          async (call) => await (handler(request, call) as Promise<unknown>),
        );
        const isJson = context.requestHeader.get("content-type")?.includes("json") === true;
        const answer = await prepare(handled, { isJson, hold, owner: ownerOf(context.values.get(callerKey)!) });
        deps.metrics.requests.inc({ method: `${method.parent.name}/${method.name}`, code: "ok" });
        return answer;
      } catch (error) {
        hold.release();
        throw await toCountedError(deps, context, error);
      }
    };
  }
  return async function* (request: unknown, context: HandlerContext) {
    try {
      const call = callFrom(context);
      const cancellation = cancellationOf(AbortSignal.any([call.cancellation.signal, deps.shutdown]));
      const output = context.values.get(streamOutputKey);
      yield* handler(request, { ...call, cancellation, output, beginWrite() {} }) as AsyncIterable<unknown>;
      deps.metrics.requests.inc({ method: `${method.parent.name}/${method.name}`, code: "ok" });
    } catch (error) {
      throw await toCountedError(deps, context, error);
    }
  };
}

function callFrom(context: HandlerContext): Omit<Call, "beginWrite"> {
  return {
    caller: context.values.get(callerKey) as Caller,
    requestId: context.values.get(requestIdKey),
    cancellation: cancellationOf(context.signal, context.values.get(deadlineKey)),
    timeLeftMs: () => context.timeoutMs(),
    header: (name) => context.requestHeader.get(name) ?? undefined,
  };
}

/** The Connect error for a failed call, counted in the metrics, when it may be sent. */
async function toCountedError(deps: RouterDeps, context: HandlerContext, error: unknown): Promise<ConnectError> {
  const method = `${context.service.name}/${context.method.name}`;
  const requestId = context.values.get(requestIdKey);
  const header = (name: string) => context.requestHeader.get(name) ?? undefined;
  const connectError = toConnectError(error, { log: deps.log, requestId, method, header });
  deps.metrics.requests.inc({ method, code: codeName(connectError) });
  const { values } = context;
  await deps.refusals.pace({
    owner: values.get(ownerKey) || values.get(siteKey)(),
    admitted: values.get(callerKey) !== undefined,
    error: connectError,
    onClosed: values.get(onClosedKey),
  });
  return connectError;
}

function unimplemented(method: DescMethod) {
  const error = new ConnectError(
    `${method.parent.name}/${method.name} is part of the contract, but this version does not implement it yet.`,
    Code.Unimplemented,
  );
  if (method.methodKind === "unary") return () => Promise.reject(error);
  // biome-ignore lint/correctness/useYield: a stream that ends in an error before its first message
  return async function* () {
    throw error;
  };
}
