/** Client addresses that a key may be used from, in CIDR notation. Called by ../authenticate.ts for each call of a key with such a limit,
 * by settings.ts and covers.ts. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Range = { address: ipaddr.IPv4 | ipaddr.IPv6; bits: number };

/** `192.0.2.7`, `198.51.100.9/24` or `::ffff:192.0.2.0/120` in their shortest form: the network and its length. */
export function readRange(text: string): { ok: true; range: string } | { ok: false; reason: string } {
  const [host = "", length, ...rest] = text.split("/");
  // The library also accepts octal, hexadecimal and shortened IPv4 addresses, which people read differently.
  const version = isIP(host);
  if (version === 0 || host.includes("%") || rest.length > 0)
    return { ok: false, reason: "is not an address or a range such as 192.0.2.7, 198.51.100.0/24 or 2001:db8::/48" };
  const most = version === 4 ? 32 : 128;
  if (length !== undefined && !(/^\d{1,3}$/.test(length) && Number(length) <= most))
    return { ok: false, reason: `must have a length from 0 to ${most} after the slash` };
  const bits = length === undefined ? most : Number(length);
  const address = ipaddr.parse(host);
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress();
  if (isMapped && bits < 96) return { ok: false, reason: "must be written as an IPv4 range" };
  const plain = isMapped ? { address: address.toIPv4Address(), bits: bits - 96 } : { address, bits };
  return { ok: true, range: `${networkOf(plain)}/${plain.bits}` };
}

function networkOf({ address, bits }: Range): string {
  const bytes = address.toByteArray().map((byte, i) => byte & (0xff << Math.max(0, 8 - Math.max(0, bits - 8 * i))));
  return ipaddr.fromByteArray(bytes).toString();
}

/** Whether the client's address is in one of the ranges. An IPv4-mapped IPv6 address counts as IPv4. */
export function allowsAddress(ranges: readonly string[], client: string): boolean {
  const plain = client.replace(/%.*$/, "");
  if (isIP(plain) === 0) return false;
  const address = ipaddr.process(plain);
  return ranges.some((text) => {
    const range = parsed(text);
    return range.address.kind() === address.kind() && address.match(range.address, range.bits);
  });
}

/** Whether every address of `inner` is in `outer`. */
export function containsRange(outer: string, inner: string): boolean {
  const [wide, narrow] = [parsed(outer), parsed(inner)];
  return (
    wide.address.kind() === narrow.address.kind() &&
    wide.bits <= narrow.bits &&
    narrow.address.match(wide.address, wide.bits)
  );
}

/** A cache by text: each call of a limited key reads its ranges again, and parsing takes longer than comparing. */
const cache = new Map<string, Range>();
const maxCached = 10_000;

function parsed(text: string): Range {
  let range = cache.get(text);
  if (!range) {
    const [address, bits] = ipaddr.parseCIDR(text);
    range = { address, bits };
    if (cache.size >= maxCached) cache.clear();
    cache.set(text, range);
  }
  return range;
}
