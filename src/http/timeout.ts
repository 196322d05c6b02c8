/** Reads and checks the deadlines that callers set with headers. Called by dispatch.ts, unary-json.ts and gate.ts. */
import type { IncomingHttpHeaders } from "node:http";
import { invalid } from "../ops/problem.ts";

/** One day. A longer deadline is a mistake in the unit. */
export const maxTimeoutMs = 86_400_000;

/** Values that are certainly longer than a day, in the notations of Connect and gRPC. */
const overADay = { "connect-timeout-ms": /^\d{9,}$/, "grpc-timeout": /^(\d{3,}H|\d{5,}M|\d{6,}S|\d{9,}m)$/ };

/** Connect starts a timer before it checks the value, and a Node timer fires at once when the delay overflows. A value that is not a number
 * starts no timer, and Connect rejects it. */
export function dropOverlongTimeout(headers: IncomingHttpHeaders): void {
  for (const [name, pattern] of Object.entries(overADay)) {
    if (pattern.test(String(headers[name] ?? ""))) headers[name] = "over a day";
  }
}

const grpcUnitsMs: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 };

/** The timeout that the caller set for its protocol; undefined if it set none, or one that the gate rejects as malformed. */
export function timeoutOf(headers: IncomingHttpHeaders): number | undefined {
  const isGrpc = headers["content-type"]?.startsWith("application/grpc");
  const text = String(headers[isGrpc ? "grpc-timeout" : "connect-timeout-ms"] ?? "");
  const [, count, unit = "m"] = (isGrpc ? /^(\d{1,8})([HMSmun])$/ : /^(\d{1,10})$/).exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * grpcUnitsMs[unit]!;
}

type TimedRequest = {
  protocol: string;
  header(name: string): string | undefined;
  timeoutMs(): number | undefined;
};

/** Connect rejects these values too, but only after the gate and without the name of the field. */
export function requireSaneTimeout({ protocol, header, timeoutMs }: TimedRequest): void {
  const timeout = header("connect-timeout-ms");
  const malformed = protocol === "connect" && timeout !== undefined && !/^\d{1,10}$/.test(timeout);
  if (!malformed && (timeoutMs() ?? 0) <= maxTimeoutMs) return;
  const field = protocol === "connect" ? "Connect-Timeout-Ms" : "grpc-timeout";
  throw invalid([{ field, description: `must be a whole number of milliseconds up to ${maxTimeoutMs} (one day)` }]);
}
