/** Reads a domain name as a user types it. Returns its canonical form, or a sentence that describes the error. */
import { isIP } from "node:net";
import { domainToASCII, domainToUnicode } from "node:url";
import { getDomain, parse } from "tldts";

export type DomainName = {
  /** Lower-case, IDNA-encoded, no trailing dot: the form that is stored and compared. */
  ascii: string;
  /** The form for display. */
  unicode: string;
  /** The name one label below the public suffix. At most DNS providers, this is the zone. */
  registrable: string;
};

export type NameReading = { ok: true; name: DomainName } | { ok: false; reason: string };

/** Reserves space for the records below the domain. The longest prefix is `ph1._domainkey.`, with 15 characters. */
const maxLength = 253 - 15;

export function readDomainName(input: string): NameReading {
  const typed = input.trim();
  const mistake = commonMistake(typed);
  if (mistake) return { ok: false, reason: mistake };

  const ascii = domainToASCII(typed.replace(/[.\u3002\uff0e\uff61]$/u, "")).toLowerCase();
  const unicode = ascii === "" ? "" : domainToUnicode(ascii);
  // domainToUnicode returns a label with invalid punycode unchanged.
  if (unicode === "" || /(^|\.)xn--/.test(unicode)) {
    return refuse(`${JSON.stringify(typed)} is not a valid internationalized domain name`);
  }
  if (isIP(ascii) !== 0 || /^[\d.]+$/.test(ascii)) return refuse("An IP address is not a domain name");
  if (ascii.length > maxLength) {
    return refuse(
      `The domain name has ${ascii.length} characters; at most ${maxLength} are allowed, because records are added below it`,
    );
  }
  const labels = ascii.split(".");
  for (const label of labels) {
    const problem = labelProblem(label);
    if (problem) return refuse(problem);
  }
  if (labels.length < 2)
    return refuse(`${JSON.stringify(ascii)} is a single label; write a full domain name such as example.com`);
  if (/^\d+$/.test(labels.at(-1) ?? "")) return refuse("The last label of a domain name cannot be a number");

  if (isPublicSuffix(ascii)) {
    return refuse(
      `${JSON.stringify(unicode)} is a public suffix, which many owners share; write a domain name below it`,
    );
  }
  return { ok: true, name: { ascii, unicode, registrable: organizationalDomain(ascii) } };
}

/** True for a name below which many owners register theirs, such as com or co.uk. Single labels count. */
export function isPublicSuffix(ascii: string): boolean {
  const { isIcann, publicSuffix } = parse(ascii, { validateHostname: false });
  return !ascii.includes(".") || (isIcann === true && publicSuffix === ascii);
}

/** One label below the public suffix, which is usually the zone. Private suffixes count: a.github.io and b.github.io have different owners. */
export function organizationalDomain(ascii: string): string {
  return getDomain(ascii, { allowPrivateDomains: true, validateHostname: false }) ?? ascii;
}

/** Describes the error in one label of a host name, or returns undefined (RFC 1123 §2.1: letters, digits and inner hyphens). */
export function labelProblem(label: string): string | undefined {
  if (label === "") return "The domain name has an empty label (two dots in a row, or a dot at the start)";
  if (label.length > 63)
    return `The label ${JSON.stringify(label)} has ${label.length} characters; at most 63 are allowed`;
  if (!/^[a-z0-9-]+$/.test(label)) {
    return `The label ${JSON.stringify(label)} may contain only letters, digits and hyphens`;
  }
  if (label.startsWith("-") || label.endsWith("-")) {
    return `The label ${JSON.stringify(label)} cannot start or end with a hyphen`;
  }
  return undefined;
}

/** Also refuses percent signs, brackets and colons, which the URL host parser behind domainToASCII would decode. */
function commonMistake(typed: string): string | undefined {
  if (typed === "") return "The domain name is empty; write for example example.com";
  if (isIP(typed.replace(/^\[|\]$/g, "")) !== 0) return "An IP address is not a domain name";
  if (typed.includes("://") || typed.includes("/"))
    return "Write only the domain name, without https:// and without a path";
  if (typed.includes("@")) return "Write only the domain name, without the mailbox and the @";
  if (typed.includes("*")) return "A wildcard cannot be registered; write one domain name";
  if (typed.length > 1000) return `The domain name is too long; at most ${maxLength} characters are allowed`;
  const bad = /[^a-zA-Z0-9.\-\u0080-\u{10ffff}]/u.exec(typed);
  return bad
    ? `The domain name contains the character ${JSON.stringify(bad[0])}, which is not allowed in domain names`
    : undefined;
}

function refuse(reason: string): NameReading {
  return { ok: false, reason };
}
