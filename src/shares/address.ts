/** Who a stranger is: the networks that an address is counted under. An IPv4 address counts alone; an IPv6 address counts with its /64,
 * which one host has at least, and with its /56, which one site has (RFC 6177). */
import ipaddr from "ipaddr.js";

export type Networks = {
  /** The IPv4 address, or the /64. */
  address: string;
  /** The IPv4 address, or the /56. Turns and memory go by this one. */
  site: string;
};

/** Also accepts a network that this function returned, such as `2001:db8::/64`. */
export function networksOf(text: string): Networks {
  const plain = text.replace(/[%/].*$/, "");
  if (!ipaddr.isValid(plain)) return { address: plain, site: plain };
  const parsed = ipaddr.process(plain);
  if (parsed.kind() === "ipv4") return { address: parsed.toString(), site: parsed.toString() };
  const bytes = parsed.toByteArray();
  return { address: prefix(bytes, 64), site: prefix(bytes, 56) };
}

function prefix(bytes: readonly number[], bits: number): string {
  const kept = bytes.map((byte, i) => (i < bits / 8 ? byte : 0));
  return `${ipaddr.fromByteArray(kept).toString()}/${bits}`;
}

/** Whether an address is in one of these ranges, in CIDR notation. */
export function isWithin(text: string, ranges: readonly string[]): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return ranges.some((range) => {
    const [network, bits] = ipaddr.parseCIDR(range);
    return network.kind() === address.kind() && address.match(network, bits);
  });
}
