/** Puts the handlers behind Connect, gRPC and gRPC-Web: the gate (key, rate, permission) before a body is read, the deadline
 * and the error funnel around every handler. The handlers know nothing of this. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, createConnectRouter, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import type { Log } from "../ops/log.ts";
import type { Metrics } from "../ops/metrics.ts";
import { bodyHoldKey, countUnpacked } from "./body-room.ts";
import { type Call, type Caller, withinDeadline } from "./call.ts";
import { codeName, toConnectError } from "./errors.ts";
import { admit, type GateDeps } from "./gate.ts";
import { lifeOf } from "./life.ts";
import { createJsonReader } from "./read-json.ts";
import type { ServiceEntry } from "./service.ts";
import { maxTimeoutMs } from "./timeout.ts";
import { keepNoted } from "./written.ts";

export type RouterDeps = GateDeps & {
  log: Log;
  metrics: Metrics;
  maxBodyBytes: number;
  /** Ends streams when the node stops; unary calls in hand are finished instead. */
  shutdown: AbortSignal;
};

export const requestIdKey = createContextKey("", { description: "request id" });
const callerKey = createContextKey<Caller | undefined>(undefined, { description: "caller" });

export function createRouter(deps: RouterDeps, services: readonly ServiceEntry[]): Map<string, UniversalHandler> {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip, compressionBrotli].map(countUnpacked),
    readMaxBytes: deps.maxBodyBytes,
    maxTimeoutMs,
    requireConnectProtocolHeader: true,
    requestGate: (context) => gate(deps, context),
  });
  for (const { service, handlers } of services) {
    for (const method of service.methods) {
      const handler = handlers[method.localName];
      const served = handler ? wrap(deps, method, handler as AnyHandler) : unbuilt(method);
      router.rpc(method, served as never, { jsonOptions: jsonOptions(deps, method) });
    }
  }
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

/** Unset fields are written out, so that a person with curl sees every documented field; unknown ones are ignored. */
function jsonOptions(deps: RouterDeps, method: DescMethod) {
  const labels = { method: `${method.parent.name}/${method.name}`, code: "invalid_argument" };
  const textDecoder = createJsonReader(method.input, () => deps.metrics.requests.inc(labels));
  return { alwaysEmitImplicit: true, ignoreUnknownFields: true, textDecoder };
}

type AnyHandler = (request: unknown, call: Call) => Promise<unknown> | AsyncIterable<unknown>;

async function gate(deps: RouterDeps, context: HandlerContext): Promise<void> {
  try {
    const caller = await admit(deps, {
      method: context.method,
      protocol: context.protocolName,
      header: (name) => context.requestHeader.get(name) ?? undefined,
      timeoutMs: () => context.timeoutMs(),
      life: lifeOf(context.signal),
    });
    context.values.set(callerKey, caller);
    context.values.get(bodyHoldKey)?.admit(caller.workspaceId);
  } catch (error) {
    throw counted(deps, context, error);
  }
}

function wrap(deps: RouterDeps, method: DescMethod, handler: AnyHandler) {
  if (method.methodKind === "unary") {
    return async (request: unknown, context: HandlerContext) => {
      try {
        keepNoted(request as object);
        const answer = await withinDeadline(
          callFrom(context),
          async (call) => await (handler(request, call) as Promise<unknown>),
        );
        deps.metrics.requests.inc({ method: `${method.parent.name}/${method.name}`, code: "ok" });
        return answer;
      } catch (error) {
        throw counted(deps, context, error);
      }
    };
  }
  return async function* (request: unknown, context: HandlerContext) {
    try {
      const call = callFrom(context);
      const life = lifeOf(AbortSignal.any([call.life.signal, deps.shutdown]));
      yield* handler(request, { ...call, life, beginWrite() {} }) as AsyncIterable<unknown>;
      deps.metrics.requests.inc({ method: `${method.parent.name}/${method.name}`, code: "ok" });
    } catch (error) {
      throw counted(deps, context, error);
    }
  };
}

function callFrom(context: HandlerContext): Omit<Call, "beginWrite"> {
  return {
    caller: context.values.get(callerKey) as Caller,
    requestId: context.values.get(requestIdKey),
    life: lifeOf(context.signal),
    timeLeftMs: () => context.timeoutMs(),
    header: (name) => context.requestHeader.get(name) ?? undefined,
  };
}

function counted(deps: RouterDeps, context: HandlerContext, error: unknown): ConnectError {
  const method = `${context.service.name}/${context.method.name}`;
  const connectError = toConnectError(error, { log: deps.log, requestId: context.values.get(requestIdKey), method });
  deps.metrics.requests.inc({ method, code: codeName(connectError) });
  return connectError;
}

function unbuilt(method: DescMethod) {
  const error = new ConnectError(
    `${method.parent.name}/${method.name} belongs to the contract, but this version does not serve it yet.`,
    Code.Unimplemented,
  );
  if (method.methodKind === "unary") return () => Promise.reject(error);
  // biome-ignore lint/correctness/useYield: a stream that ends in an error before its first message
  return async function* () {
    throw error;
  };
}
