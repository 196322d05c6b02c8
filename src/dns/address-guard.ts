/** Decides which IP addresses the program may connect to when a tenant's DNS name points there. Used for MX hosts and webhooks. */
import { isIP } from "node:net";
import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";

/** True for an address of the public internet. False for every special range and for text that is not an address. */
export function isPublicAddress(text: string): boolean {
  const address = readAddress(text);
  if (address === undefined) return false;
  return address.kind() === "ipv4" ? isPublicV4(address as IPv4) : isPublicV6(address as IPv6);
}

/** Permits public addresses and the ranges that the operator allows. Throws on an invalid range. */
export function createAddressGuard(options: { allowCidrs: readonly string[] }): (ip: string) => boolean {
  const isAllowed = createRangeMatch(options.allowCidrs);
  return (ip) => isPublicAddress(ip) || isAllowed(ip);
}

/** Returns a function that checks whether an address is in one of these ranges. Throws on an invalid range. */
export function createRangeMatch(cidrs: readonly string[]): (ip: string) => boolean {
  const ranges = cidrs.map(readRange);
  return (ip) => {
    const address = readAddress(ip);
    if (address === undefined) return false;
    return ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
  };
}

function readAddress(text: string): IPv4 | IPv6 | undefined {
  // Libraries disagree on octal, hexadecimal and shortened forms, so only four decimal parts count as an address.
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  // A zone index (fe80::1%eth0) selects an interface of this machine.
  if (isIP(text) !== 6 || text.includes("%")) return undefined;
  // ipaddr.js reads ::192.0.2.1 as ::ffff:192.0.2.1, but sockets do not. The URL parser rewrites it without dots.
  const address = ipaddr.IPv6.parse(new URL(`http://[${text}]`).hostname.slice(1, -1));
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function readRange(text: string): [IPv4 | IPv6, number] {
  const slash = text.lastIndexOf("/");
  const address = readAddress(slash < 0 ? text : text.slice(0, slash));
  const width = address?.kind() === "ipv4" ? 32 : 128;
  const bits = slash < 0 ? width : Number(text.slice(slash + 1) || Number.NaN);
  if (address === undefined || !Number.isInteger(bits) || bits < 0 || bits > width) {
    throw new Error(`${JSON.stringify(text)} is not an address range; write for example 10.0.0.0/8 or fd00::/8`);
  }
  return [address, bits];
}

/** Services of a cloud's host at addresses outside the special ranges. Only the machine itself reaches them, and they trust it. */
const hostServices = new Set([
  // Azure's wire server: extension settings, certificates and DNS of the virtual machine.
  "168.63.129.16",
]);

function isPublicV4(address: IPv4): boolean {
  return address.range() === "unicast" && !hostServices.has(address.toString());
}

function isPublicV6(address: IPv6): boolean {
  const bytes = address.toByteArray();
  const v4At = (offset: number, flip = 0): boolean =>
    isPublicV4(new ipaddr.IPv4(bytes.slice(offset, offset + 4).map((byte) => byte ^ flip)));

  // RFC 6052 §2.1: NAT64 connects to the address in the last four bytes. 64:ff9b:1::/48 (RFC 8215) is for local use.
  if (address.match(ipaddr.IPv6.parse("64:ff9b::"), 96)) return v4At(12);
  // RFC 3056 §2: a 6to4 router sends to the address in bytes 2 to 5.
  if (bytes[0] === 0x20 && bytes[1] === 0x02) return v4At(2);
  // RFC 4380 §4: server in bytes 4 to 7, client in the last four, inverted.
  if (address.match(ipaddr.IPv6.parse("2001::"), 32)) return v4At(4) && v4At(12, 0xff);
  // RFC 5214 §6.1: an ISATAP interface identifier ends in the address the packet is tunnelled to.
  if ((bytes[8]! & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe && !v4At(12)) return false;
  // RFC 4291 §2.4 and IANA's allocation: only 2000::/3 is in use as global unicast.
  return (bytes[0]! & 0xe0) === 0x20 && address.range() === "unicast";
}
