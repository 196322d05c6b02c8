/** Where a request comes from: the peer, or what trusted proxies say of it. */
import ipaddr from "ipaddr.js";
import type { Request } from "./http.ts";

/** The address, or the network of an IPv6 one (RFC 6177: a site has at least a /64), to count requests by. */
export function clientAddress(request: Request, trustedProxies: readonly string[]): string {
  const peer = request.socket?.remoteAddress ?? "";
  const told = String(request.headers["x-forwarded-for"] ?? "");
  return networkOf(behindProxies(peer, told, trustedProxies));
}

/** From the peer backwards, past every proxy that is trusted: what a stranger wrote in front of it does not count. */
export function behindProxies(peer: string, told: string, trusted: readonly string[]): string {
  const hops = told
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
