/** Puts the handlers behind Connect, gRPC and gRPC-Web: the gate (key, rate, permission) before a body is read, the deadline
 * and the error funnel around every handler. The handlers know nothing of this. */
import {
  type DescMethod,
  type DescService,
  getOption,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, createConnectRouter, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { KeyPermission, policy } from "../gen/v1/options_pb.ts";
import type { Log } from "../ops/log.ts";
import type { Metrics } from "../ops/metrics.ts";
import { Problem } from "../rules/problem.ts";
import type { Permission } from "../store/keys.ts";
import type { Authenticator } from "./authenticate.ts";
import { beforeEnd, type Call, type Caller, callerOf, withinDeadline } from "./call.ts";
import { codeName, toConnectError } from "./errors.ts";
import type { createRateLimit } from "./rate-limit.ts";
import { createJsonReader } from "./read-json.ts";
import { maxTimeoutMs, requireSaneTimeout } from "./timeout.ts";

export type Handlers<S extends DescService> = {
  [K in keyof S["method"]]?: S["method"][K] extends { methodKind: "server_streaming" }
    ? (
        request: MessageShape<S["method"][K]["input"]>,
        call: Call,
      ) => AsyncIterable<MessageInitShape<S["method"][K]["output"]>>
    : (
        request: MessageShape<S["method"][K]["input"]>,
        call: Call,
      ) => Promise<MessageInitShape<S["method"][K]["output"]>>;
};

/** A service of the contract and the methods of it that are built; the others answer `unimplemented`. */
export type ServiceEntry = { service: DescService; handlers: Record<string, unknown> };

export function serve<S extends DescService>(service: S, handlers: Handlers<S>): ServiceEntry {
  return { service, handlers: handlers as Record<string, unknown> };
}

export type RouterDeps = {
  log: Log;
  metrics: Metrics;
  authenticator: Authenticator;
  rateLimit: ReturnType<typeof createRateLimit>;
  maxBodyBytes: number;
  /** Ends streams when the node stops; unary calls in hand are finished instead. */
  shutdown: AbortSignal;
};

export const requestIdKey = createContextKey("", { description: "request id" });
const callerKey = createContextKey<Caller | undefined>(undefined, { description: "caller" });

export function createRouter(deps: RouterDeps, services: readonly ServiceEntry[]): Map<string, UniversalHandler> {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip, compressionBrotli],
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

/** Who asks, how often, and may they: judged before the body is read, in this order. */
async function gate(deps: RouterDeps, context: HandlerContext): Promise<void> {
  try {
    requireProtocolHeader(context);
    requireSaneTimeout(context);
    const authorization = context.requestHeader.get("authorization") ?? undefined;
    const key = await beforeEnd(context.signal, deps.authenticator.authenticate(authorization));
    deps.rateLimit.take(key.id, performance.now());
    requirePermission(context.method, key.permission);
    context.values.set(callerKey, callerOf(key));
  } catch (error) {
    throw counted(deps, context, error);
  }
}

/** Connect checks this only after its gate; a caller without the header must learn of it before its key is judged. */
function requireProtocolHeader(context: HandlerContext): void {
  if (context.protocolName !== "connect") return;
  const version = context.requestHeader.get("connect-protocol-version");
  if (version === "1") return;
  const found = version === null ? "It is missing." : `It is ${JSON.stringify(version.slice(0, 20))}.`;
  throw new Problem("invalid_argument", `The header Connect-Protocol-Version: 1 is required. ${found}`, {
    violations: [{ field: "Connect-Protocol-Version", description: "must be 1" }],
  });
}

function requirePermission(method: DescMethod, permission: Permission): void {
  const wanted = getOption(method, policy).permissions;
  if (wanted.includes(permissionOnWire[permission])) return;
  const names = Object.entries(permissionOnWire).filter(([, value]) => wanted.includes(value));
  const who =
    names.length > 0
      ? `needs a key with the permission ${names.map(([name]) => name).join(" or ")}`
      : "is for people signed in to the dashboard";
  throw new Problem("permission_denied", `${method.name} ${who}; this key has the permission ${permission}.`);
}

export const permissionOnWire = {
  full: KeyPermission.FULL,
  send: KeyPermission.SEND,
  read: KeyPermission.READ,
} as const;

function wrap(deps: RouterDeps, method: DescMethod, handler: AnyHandler) {
  if (method.methodKind === "unary") {
    return async (request: unknown, context: HandlerContext) => {
      try {
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
      const signal = AbortSignal.any([call.signal, deps.shutdown]);
      yield* handler(request, { ...call, signal, beginWrite() {} }) as AsyncIterable<unknown>;
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
    signal: context.signal,
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
