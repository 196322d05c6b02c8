/** The address of the client: the peer, or the address that trusted proxies report. Called by people/pages.ts for rate limits. */
import ipaddr from "ipaddr.js";
import { isWithin, networksOf } from "../shares/address.ts";
import type { Request } from "./server.ts";

/** The key to count requests by: an IPv4 address, or the /64 network of an IPv6 address (RFC 6177: a site has at least a /64). */
export function clientAddress(request: Request, trustedProxies: readonly string[]): string {
  const peer = request.socket?.remoteAddress ?? "";
  const forwardedFor = String(request.headers["x-forwarded-for"] ?? "");
  return networksOf(behindProxies(peer, forwardedFor, trustedProxies)).address;
}

/** Walks X-Forwarded-For backwards from the peer, past every trusted proxy. Entries before the first untrusted address may be forged. */
export function behindProxies(peer: string, forwardedFor: string, trusted: readonly string[]): string {
  const hops = forwardedFor
    .split(",")
    .map((hop) => hop.trim())
    .filter((hop) => hop !== "");
  let at = peer;
  while (isWithin(at, trusted)) {
    const before = hops.pop();
    if (before === undefined || !ipaddr.isValid(before)) break;
    at = before;
  }
  return at;
}
