/** Requests that come through a trusted proxy: the proxy's connections have no limit of their own, so the forwarded address has a share of
 * the requests in progress. Called by dispatch.ts for every request, and by safe-headers.ts. */
import { isWithin } from "../shares/address.ts";
import { createConnectionShares } from "../shares/connections.ts";
import { onlyProcess, partOf } from "../shares/process-part.ts";
import { behindProxies } from "./client-address.ts";
import { tooManyOpen } from "./connections.ts";
import type { Request, Response } from "./server.ts";

export type ProxyTrust = {
  ranges: readonly string[];
  isTrusted(address: string): boolean;
};

/** A cache: parsing the ranges for each request takes longer than all other checks of its header. */
const maxKnown = 1000;

export function createProxyTrust(ranges: readonly string[]): ProxyTrust {
  const known = new Map<string, boolean>();
  return {
    ranges,
    isTrusted(address) {
      if (ranges.length === 0) return false;
      let trusted = known.get(address);
      if (trusted !== undefined) return trusted;
      trusted = isWithin(address, ranges);
      if (known.size >= maxKnown) known.clear();
      known.set(address, trusted);
      return trusted;
    },
  };
}

export type ForwardedShares = {
  /** False when the forwarded address has too many requests in progress. The request is answered then. */
  admit(request: Request, response: Response): boolean;
  count(): number;
};

export type ForwardedLimits = { total: number; factor: number };

const defaultLimits: ForwardedLimits = { total: 10_000, factor: 3 };
const neverIdle = { idleMs: () => undefined, giveWay() {} };

export function createForwardedShares(
  trust: ProxyTrust,
  limits: Partial<ForwardedLimits> = {},
  part = onlyProcess,
): ForwardedShares {
  const { factor, ...of } = { ...defaultLimits, ...limits };
  const total = partOf(of.total, part);
  const shares = createConnectionShares({ total, factor, perAddress: total });
  return {
    admit(request, response) {
      if (trust.ranges.length === 0) return true;
      const peer = request.socket?.remoteAddress ?? "";
      if (!trust.isTrusted(peer)) return true;
      const forwardedFor = request.headers["x-forwarded-for"];
      // A health check of the proxy itself forwards no address. An address that cannot be read counts as the proxy's.
      if (forwardedFor === undefined) return true;
      const address = behindProxies(peer, String(forwardedFor), trust.ranges);
      const release = shares.admit(address, { ...neverIdle });
      if (!release) {
        refuse(response);
        return false;
      }
      response.once("close", release);
      return true;
    },
    count: shares.count,
  };
}

function refuse(response: Response): void {
  const { retryAfterSeconds, body } = tooManyOpen("requests");
  response.statusCode = 429;
  response.setHeader("retry-after", retryAfterSeconds);
  response.setHeader("content-type", "application/json");
  response.setHeader("content-length", Buffer.byteLength(body));
  response.end(body);
}
