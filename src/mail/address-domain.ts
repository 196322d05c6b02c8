/**
 * Reads the domain of an email address into lower-case A-labels, or says what is wrong with it; called by the address
 * parser.
 */

import { domainToASCII, domainToUnicode } from "node:url";
import { labelProblem } from "./dns-name.ts";

export type AddressDomainResult = { ok: true; domain: string } | { ok: false; reason: string };

/** Never resolves or guesses: what comes out is the same name as what went in, or nothing. */
export function readAddressDomain(text: string): AddressDomainResult {
  if (text === "") return refuse("The address has nothing after the @: add a domain such as example.com");
  if (text.startsWith("[")) return refuse("An IP address in brackets cannot receive mail here: use a domain name");
  // domainToASCII is the URL host parser: it decodes %61, cuts at / and #, drops tabs and reads numbers as IPv4. None
  // may reach it.
  const odd = /[^A-Za-z0-9.\-\u0080-\u{10ffff}]/u.exec(text);
  if (odd !== null)
    return refuse(`The domain holds ${JSON.stringify(odd[0])}: only letters, digits, hyphens and dots are allowed`);
  if (text.endsWith(".")) return refuse("The domain ends in a dot: remove it");

  const ascii = /[\u0080-\u{10ffff}]/u.test(text) ? fromUnicode(text) : text.toLowerCase();
  if (ascii === undefined) {
    return refuse(
      `${JSON.stringify(text.slice(0, 80))} is not a valid internationalised domain name: check its spelling or write its xn-- form`,
    );
  }
  const labels = ascii.split(".");
  for (const label of labels) {
    const problem = labelProblem(label) ?? fakeALabel(label);
    if (problem !== undefined) return refuse(problem);
  }
  if (ascii.length > 253) return refuse(`The domain has ${ascii.length} characters, at most 253 are allowed`);
  // RFC 5321 §2.3.5: a fully qualified name; RFC 7085 counsels against mail at a bare top level.
  if (labels.length < 2) return refuse(`${JSON.stringify(ascii)} is not a whole domain: write one such as example.com`);
  // RFC 3696 §2: no top level is a number, so an IPv4 address in any notation ends here.
  if (!/^[a-z]/.test(labels.at(-1)!)) return refuse("The domain ends in a number: an IP address is not a mail domain");
  return { ok: true, domain: ascii };
}

/**
 * UTS 46 maps look-alikes and drops invisible characters in silence (full-width letters, soft hyphens). Only a name
 * that comes back as it was written, up to case and composition, is taken at its word.
 */
function fromUnicode(text: string): string | undefined {
  const written = text.normalize("NFC").toLowerCase().normalize("NFC");
  const ascii = domainToASCII(written);
  return ascii !== "" && domainToUnicode(ascii) === written ? ascii : undefined;
}

// RFC 5890 §2.3.2.1: xn-- is a promise that the rest decodes, and encodes back to the same.
function fakeALabel(label: string): string | undefined {
  if (!label.startsWith("xn--")) return undefined;
  const unicode = domainToUnicode(label);
  if (unicode !== "" && unicode !== label && domainToASCII(unicode) === label) return undefined;
  return `The label ${JSON.stringify(label)} starts with xn-- but is not an encoded name`;
}

function refuse(reason: string): AddressDomainResult {
  return { ok: false, reason };
}
