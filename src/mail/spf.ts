/** Parses SPF records by the grammar of RFC 7208 §12. `spf-authorize.ts` evaluates the result. */
import ipaddr from "ipaddr.js";

export type Qualifier = "+" | "-" | "~" | "?";

export type Mechanism = { qualifier: Qualifier } & (
  | { name: "all" }
  | { name: "include" | "exists"; domain: string }
  | { name: "a" | "mx" | "ptr"; domain: string | undefined }
  | { name: "ip4" | "ip6"; network: string }
);

export type SpfRecord = { mechanisms: Mechanism[]; redirect: string | undefined };
export type SpfReading = { ok: true; record: SpfRecord } | { ok: false; problem: string };

/** RFC 7208 §4.5: the version ends with a space or the end of the record, so `v=spf10` is not SPF. */
export function isSpf(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text);
}

export function parseSpf(text: string): SpfReading {
  if (!isSpf(text)) return { ok: false, problem: "it does not start with v=spf1 and a space" };
  const mechanisms: Mechanism[] = [];
  const modifiers = new Map<string, string>();
  for (const term of text.slice("v=spf1".length).split(" ")) {
    if (term === "") continue;
    const modifier = /^([a-z][a-z0-9_.-]*)=(.*)$/i.exec(term);
    if (modifier) {
      const name = (modifier[1] ?? "").toLowerCase();
      const value = modifier[2] ?? "";
      if (name === "redirect" || name === "exp") {
        // RFC 7208 §6: each of the two occurs at most once, anywhere in the record.
        if (modifiers.has(name)) return invalid(term, "this modifier occurs twice");
        if (!isDomainSpec(value)) return invalid(term, "there is no domain name after the =");
        modifiers.set(name, value);
      }
      continue;
    }
    const mechanism = parseMechanism(term);
    if (typeof mechanism === "string") return invalid(term, mechanism);
    mechanisms.push(mechanism);
  }
  return { ok: true, record: { mechanisms, redirect: modifiers.get("redirect") } };
}

/** True if a domain-spec depends on the message, so that it cannot be looked up in advance. */
export function hasMacro(domain: string): boolean {
  return domain.includes("%");
}

function parseMechanism(term: string): Mechanism | string {
  const cidr = /(?:\/\d{1,3})?(?:\/\/\d{1,3})?$/.exec(term)?.[0] ?? "";
  const match = /^([+\-~?]?)([a-z0-9]+)(?::(.*))?$/i.exec(term.slice(0, term.length - cidr.length));
  const ip = /^([+\-~?]?)(ip4|ip6):(.+)$/i.exec(term);
  const qualifier = ((ip ?? match)?.[1] || "+") as Qualifier;
  if (ip) {
    const name = (ip[2] ?? "").toLowerCase() as "ip4" | "ip6";
    const network = ip[3] ?? "";
    return isNetwork(name, network) ? { qualifier, name, network } : `this is not an ${name} address or range`;
  }
  if (!match) return "this is not an SPF mechanism";
  const name = (match[2] ?? "").toLowerCase();
  const domain = match[3];
  if (domain !== undefined && !isDomainSpec(domain)) return "there is no domain name after the :";
  switch (name) {
    case "all":
      return domain === undefined && cidr === "" ? { qualifier, name } : "all takes no argument";
    case "include":
    case "exists":
      if (domain === undefined || cidr !== "") return `${name} needs a domain name after a :`;
      return { qualifier, name, domain };
    case "a":
    case "mx":
      return isDualCidr(cidr) ? { qualifier, name, domain } : "the prefix length is out of range";
    case "ptr":
      return cidr === "" ? { qualifier, name, domain } : "ptr takes no prefix length";
    default:
      return "this is not an SPF mechanism";
  }
}

/** RFC 7208 §7.1. Does not check the syntax of macros: a receiver that cannot expand one reports its own error. */
function isDomainSpec(domain: string): boolean {
  return /^[\x21-\x7e]+$/.test(domain) && (hasMacro(domain) || /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(domain));
}

function isDualCidr(cidr: string): boolean {
  const match = /^(?:\/(\d+))?(?:\/\/(\d+))?$/.exec(cidr);
  return match !== null && Number(match[1] ?? 32) <= 32 && Number(match[2] ?? 128) <= 128;
}

function isNetwork(name: "ip4" | "ip6", network: string): boolean {
  const [address = "", prefix] = network.split("/");
  if (prefix !== undefined && !/^\d{1,3}$/.test(prefix)) return false;
  if (name === "ip4") return ipaddr.IPv4.isValidFourPartDecimal(address) && Number(prefix ?? 32) <= 32;
  return ipaddr.IPv6.isValid(address) && !address.includes("%") && Number(prefix ?? 128) <= 128;
}

function invalid(term: string, why: string): SpfReading {
  return { ok: false, problem: `${JSON.stringify(term)}: ${why}` };
}
