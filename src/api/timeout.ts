/** The deadlines that callers set, and the longest there may be. Called by dispatch and by the gate. */
import type { IncomingHttpHeaders } from "node:http";
import { invalid } from "../rules/problem.ts";
import type { Asked } from "./gate.ts";

/** A day: longer deadlines are a mistake in the caller's unit. */
export const maxTimeoutMs = 86_400_000;

/** Values that are certainly over a day, in Connect's and in gRPC's notation. */
const overADay = { "connect-timeout-ms": /^\d{9,}$/, "grpc-timeout": /^(\d{3,}H|\d{5,}M|\d{6,}S|\d{9,}m)$/ };

/** Connect starts a timer before it judges the value, and a timer that cannot count that far fires at once: words never start one. */
export function tameTimeout(headers: IncomingHttpHeaders): void {
  for (const [name, pattern] of Object.entries(overADay)) {
    if (pattern.test(String(headers[name] ?? ""))) headers[name] = "over a day";
  }
}

/** Connect would say this too, but only after its gate, and without the field. */
export function requireSaneTimeout({ protocol, header, timeoutMs }: Asked): void {
  const timeout = header("connect-timeout-ms");
  const wrong = protocol === "connect" && timeout !== undefined && !/^\d{1,10}$/.test(timeout);
  if (!wrong && (timeoutMs() ?? 0) <= maxTimeoutMs) return;
  const field = protocol === "connect" ? "Connect-Timeout-Ms" : "grpc-timeout";
  throw invalid([{ field, description: `must be a whole number of milliseconds up to ${maxTimeoutMs}, a day` }]);
}
