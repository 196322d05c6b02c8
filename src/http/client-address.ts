/** The address of the client: the peer, or the address that trusted proxies report. Called by people/pages.ts for rate limits. */
import ipaddr from "ipaddr.js";
import type { Request } from "./server.ts";

/** The key to count requests by: an IPv4 address, or the /64 network of an IPv6 address (RFC 6177: a site has at least a /64). */
export function clientAddress(request: Request, trustedProxies: readonly string[]): string {
  const peer = request.socket?.remoteAddress ?? "";
  const forwardedFor = String(request.headers["x-forwarded-for"] ?? "");
  return networkOf(behindProxies(peer, forwardedFor, trustedProxies));
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

function isWithin(text: string, ranges: readonly string[]): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return ranges.some((range) => {
    const [network, bits] = ipaddr.parseCIDR(range);
    return network.kind() === address.kind() && address.match(network, bits);
  });
}

function networkOf(text: string): string {
  if (!ipaddr.isValid(text)) return text;
  const address = ipaddr.process(text);
  if (address.kind() === "ipv4") return address.toString();
  return `${(address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
