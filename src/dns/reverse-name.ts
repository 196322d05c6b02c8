/** The name of an address in reverse DNS (RFC 1035 §3.5, RFC 3596 §2.5). Used by reports/hosts.ts and posthorn doctor. */
import ipaddr from "ipaddr.js";

export function reverseName(ip: string): string {
  const address = ipaddr.parse(ip);
  if (address.kind() === "ipv4") return `${address.toByteArray().reverse().join(".")}.in-addr.arpa`;
  const digits = address.toByteArray().map((byte) => byte.toString(16).padStart(2, "0"));
  return `${[...digits.join("")].reverse().join(".")}.ip6.arpa`;
}
