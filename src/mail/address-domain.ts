/** Converts the domain of an address to lower-case A-labels, or returns why it is invalid. Called by address.ts and queue/service.ts. */
import { domainToASCII, domainToUnicode } from "node:url";
import { labelProblem } from "../dns/name.ts";

export type AddressDomainResult = { ok: true; domain: string } | { ok: false; reason: string };

/** Never guesses: an accepted domain is the name that the caller wrote. Does no DNS lookup. */
export function readAddressDomain(text: string): AddressDomainResult {
  if (text === "") return refuse("The address has nothing after the @: add a domain such as example.com");
  if (text.startsWith("[")) return refuse("An IP address in brackets cannot receive mail here: use a domain name");
  // domainToASCII is the URL host parser: it decodes %61, cuts at / and #, drops tabs and reads numbers as IPv4. Refuse these
  // characters before it sees them.
  const odd = /[^A-Za-z0-9.\-\u0080-\u{10ffff}]/u.exec(text);
  if (odd !== null)
    return refuse(`The domain contains ${JSON.stringify(odd[0])}: only letters, digits, hyphens and dots are allowed`);
  if (text.endsWith(".")) return refuse("The domain ends in a dot: remove it");

  const ascii = /[\u0080-\u{10ffff}]/u.test(text) ? fromUnicode(text) : text.toLowerCase();
  if (ascii === undefined) {
    return refuse(
      `${JSON.stringify(text.slice(0, 80))} is not a valid internationalized domain name: check its spelling or write its xn-- form`,
    );
  }
  const labels = ascii.split(".");
  for (const label of labels) {
    const problem = labelProblem(label) ?? fakeALabel(label);
    if (problem !== undefined) return refuse(problem);
  }
  if (ascii.length > 253) return refuse(`The domain has ${ascii.length} characters; at most 253 are allowed`);
  // RFC 5321 §2.3.5: the name must be fully qualified. RFC 7085 advises against mail at a top-level domain.
  if (labels.length < 2)
    return refuse(`${JSON.stringify(ascii)} is not a full domain name: write one such as example.com`);
  // RFC 3696 §2: no top-level domain is a number, so this refuses an IPv4 address in any notation.
  if (!/^[a-z]/.test(labels.at(-1)!)) return refuse("The domain ends in a number: an IP address is not a mail domain");
  return { ok: true, domain: ascii };
}

/**
 * UTS 46 silently maps similar characters (full-width letters) and drops invisible ones (soft hyphens). Accept a name only if it
 * converts back to what the caller wrote, apart from case and composition.
 */
function fromUnicode(text: string): string | undefined {
  const normalized = text.normalize("NFC").toLowerCase().normalize("NFC");
  const ascii = domainToASCII(normalized);
  return ascii !== "" && domainToUnicode(ascii) === normalized ? ascii : undefined;
}

// RFC 5890 §2.3.2.1: the part after xn-- must decode, and must encode back to the same label.
function fakeALabel(label: string): string | undefined {
  if (!label.startsWith("xn--")) return undefined;
  const unicode = domainToUnicode(label);
  if (unicode !== "" && unicode !== label && domainToASCII(unicode) === label) return undefined;
  return `The label ${JSON.stringify(label)} starts with xn-- but is not an encoded name`;
}

function refuse(reason: string): AddressDomainResult {
  return { ok: false, reason };
}
