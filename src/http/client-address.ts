/** The address of the client: the peer, or the address that trusted proxies report. Called by people/pages.ts for rate limits,
 * by dispatch.ts and by forwarded.ts. */
import ipaddr from "ipaddr.js";
import { isWithin, networksOf } from "../shares/address.ts";
import type { Request } from "./server.ts";

/** The exact address, for limits of keys and for what people see: without a zone, and IPv4 in its own form. */
export function exactAddress(request: Request, trustedProxies: readonly string[]): string {
  const address = addressOf(request, trustedProxies).replace(/%.*$/, "");
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : "";
}

/** The key to count requests by: an IPv4 address, or the /64 network of an IPv6 address (RFC 6177: a site has at least a /64). */
export function clientAddress(request: Request, trustedProxies: readonly string[]): string {
  return networksOf(addressOf(request, trustedProxies)).address;
}

/** The key to share turns by: an IPv4 address, or the /56 network of an IPv6 address. */
export function clientSite(request: Request, trustedProxies: readonly string[]): string {
  return networksOf(addressOf(request, trustedProxies)).site;
}

function addressOf(request: Request, trustedProxies: readonly string[]): string {
  const peer = request.socket?.remoteAddress ?? "";
  return behindProxies(peer, String(request.headers["x-forwarded-for"] ?? ""), trustedProxies);
}

/** Walks X-Forwarded-For backwards from the peer, past every trusted proxy. Entries before the first untrusted address may be forged. */
export function behindProxies(peer: string, forwardedFor: string, trusted: readonly string[]): string {
  const hops = forwardedFor
    .split(",")
    .map((hop) => withoutPort(hop.trim()))
    .filter((hop) => hop !== "");
  let at = peer;
  while (isWithin(at, trusted)) {
    const before = hops.pop();
    if (before === undefined || !ipaddr.isValid(before)) break;
    at = before;
  }
  return at;
}

/** Some proxies add the client's port: `192.0.2.1:5678`, `[2001:db8::1]:443`. */
function withoutPort(hop: string): string {
  return hop.replace(/^\[([^\]]*)\](:\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");
}
