/** Reads a domain name as people type it and gives its one canonical form, or a sentence that says what is wrong with it. */
import { isIP } from "node:net";
import { domainToASCII, domainToUnicode } from "node:url";
import { getDomain, parse } from "tldts";

export type DomainName = {
  /** Lower-case, IDNA-encoded, no trailing dot: the form that is stored and compared. */
  ascii: string;
  /** For people. */
  unicode: string;
  /** The name one label below the public suffix: the zone at most DNS providers. */
  registrable: string;
};

export type NameReading = { ok: true; name: DomainName } | { ok: false; reason: string };

// Names are put in front of the domain: the longest that we ask for is ph1._domainkey, 15 characters with its dot.
const maxLength = 253 - 15;

export function readDomainName(input: string): NameReading {
  const typed = input.trim();
  const mistake = commonMistake(typed);
  if (mistake) return { ok: false, reason: mistake };

  const ascii = domainToASCII(typed.replace(/[.\u3002\uff0e\uff61]$/u, "")).toLowerCase();
  const unicode = ascii === "" ? "" : domainToUnicode(ascii);
  // A label that punycode cannot be read from comes back as it is.
  if (unicode === "" || /(^|\.)xn--/.test(unicode)) {
    return no(`${JSON.stringify(typed)} is not a valid internationalised domain name`);
  }
  if (isIP(ascii) !== 0 || /^[\d.]+$/.test(ascii)) return no("An IP address is not a domain name");
  if (ascii.length > maxLength) {
    return no(
      `The domain name has ${ascii.length} characters; at most ${maxLength} leave room for the records under it`,
    );
  }
  const labels = ascii.split(".");
  for (const label of labels) {
    const problem = labelProblem(label);
    if (problem) return no(problem);
  }
  if (labels.length < 2)
    return no(`${JSON.stringify(ascii)} is a single label; write a whole domain such as example.com`);
  if (/^\d+$/.test(labels.at(-1) ?? "")) return no("The last label of a domain name cannot be a number");

  const suffix = parse(ascii, { validateHostname: false });
  if (suffix.isIcann && suffix.publicSuffix === ascii) {
    return no(`${JSON.stringify(unicode)} is a public suffix, shared by many owners; write a domain below it`);
  }
  return { ok: true, name: { ascii, unicode, registrable: organisationalDomain(ascii) } };
}

/** RFC 7489 §3.2: one label below the public suffix. Private suffixes count: github.io says nothing for a.github.io. */
export function organisationalDomain(ascii: string): string {
  return getDomain(ascii, { allowPrivateDomains: true, validateHostname: false }) ?? ascii;
}

/** What is wrong with one label of a host name, or undefined (RFC 1123 §2.1: letters, digits and inner hyphens). */
export function labelProblem(label: string): string | undefined {
  if (label === "") return "The domain name has an empty label (two dots in a row, or a dot at the start)";
  if (label.length > 63)
    return `The label ${JSON.stringify(label)} has ${label.length} characters; at most 63 are allowed`;
  if (!/^[a-z0-9-]+$/.test(label)) {
    return `The label ${JSON.stringify(label)} may hold only letters, digits and hyphens`;
  }
  if (label.startsWith("-") || label.endsWith("-")) {
    return `The label ${JSON.stringify(label)} cannot start or end with a hyphen`;
  }
  return undefined;
}

/** Also keeps away what the URL host parser behind domainToASCII would decode: percent signs, brackets, colons. */
function commonMistake(typed: string): string | undefined {
  if (typed === "") return "The domain name is empty; write for example example.com";
  if (isIP(typed.replace(/^\[|\]$/g, "")) !== 0) return "An IP address is not a domain name";
  if (typed.includes("://") || typed.includes("/"))
    return "Write the domain name alone, without https:// and without a path";
  if (typed.includes("@")) return "Write the domain name alone, without the mailbox and the @";
  if (typed.includes("*")) return "A wildcard cannot be registered; write one domain name";
  if (typed.length > 1000) return `The domain name is too long; at most ${maxLength} characters are allowed`;
  const bad = /[^a-zA-Z0-9.\-\u0080-\u{10ffff}]/u.exec(typed);
  return bad
    ? `The domain name holds the character ${JSON.stringify(bad[0])}, which no domain name can hold`
    : undefined;
}

function no(reason: string): NameReading {
  return { ok: false, reason };
}
