/**
 * The only address parser of the service. It accepts `a@b` and `Name <a@b>`, and nothing else of RFC 5322. Envelope and header use
 * the same result, so no second parser can read a different mailbox from the same text.
 */

import { readAddressDomain } from "./address-domain.ts";
import { looksEncoded } from "./mime/encoded-word.ts";

export type Address = {
  /** The display name as plain Unicode; empty if there is none. */
  name: string;
  /** In the caller's spelling: only the receiver knows whether case matters (RFC 5321 §2.4). */
  local: string;
  /** Lower-case A-labels. */
  domain: string;
  /** `local@domain`, ready for the envelope. */
  address: string;
  /** True if the local part is not ASCII, so that the receiver must support SMTPUTF8 (RFC 6531). */
  smtputf8: boolean;
};

export type AddressResult = { ok: true; address: Address } | { ok: false; reason: string };

/** A display name of 256 and an address of 254 characters, with quotes, escapes and brackets. */
const MAX_TEXT = 1024;
const MAX_NAME = 256;

export function parseAddress(text: string): AddressResult {
  if (text.length > MAX_TEXT)
    return refuse(`The address has ${text.length} characters; at most ${MAX_TEXT} are allowed`);
  const control = /[\p{Cc}\u2028\u2029]/u.exec(text);
  if (control !== null) return refuse(`The address contains a control character (${codePoint(control[0])}): remove it`);
  if (!text.isWellFormed()) return refuse("The address contains an unpaired surrogate: send valid Unicode");
  const trimmed = text.replace(/^ +| +$/g, "");
  if (trimmed === "") return refuse("The address is empty: write one such as name@example.com");
  if (trimmed.endsWith(">")) return parseNamed(trimmed);
  if (trimmed.includes("<") && !trimmed.startsWith('"')) {
    return refuse('The address must end with ">": write Name <name@example.com>');
  }
  return parseMailbox("", trimmed);
}

function parseNamed(text: string): AddressResult {
  const split = text.startsWith('"') ? splitQuoted(text) : splitPlain(text);
  if (!split.ok) return split;
  const { name, mailbox } = split;
  if (name.length > MAX_NAME)
    return refuse(`The display name has ${name.length} characters; at most ${MAX_NAME} are allowed`);
  if (looksEncoded(name))
    return refuse('The display name contains "=?": write it as plain text; the service encodes it');
  return parseMailbox(name, mailbox);
}

type Split = { ok: true; name: string; mailbox: string } | { ok: false; reason: string };

function splitQuoted(text: string): Split {
  const match = /^"((?:[^"\\]|\\.)*)" *<([^<>]*)>$/u.exec(text);
  if (match === null) {
    return {
      ok: false,
      reason: 'The display name must be one quoted text before the address: write "Name" <name@example.com>',
    };
  }
  return { ok: true, name: match[1]!.replace(/\\(.)/gu, "$1"), mailbox: match[2]! };
}

// RFC 5322 §3.2.3: specials need quotes. The dot is allowed, as in the obsolete grammar, because "J. Doe" is common.
function splitPlain(text: string): Split {
  const open = text.indexOf("<");
  const name = text.slice(0, Math.max(open, 0)).replace(/ +$/, "");
  const mailbox = text.slice(open + 1, -1);
  if (open < 0 || /[<>]/.test(mailbox)) {
    return { ok: false, reason: "The address must have one < and one >: write Name <name@example.com>" };
  }
  const special = /[()[\]:;@\\,">]/.exec(name);
  if (special !== null) {
    return {
      ok: false,
      reason: `The display name contains ${JSON.stringify(special[0])}: put the whole name in double quotes`,
    };
  }
  return { ok: true, name, mailbox };
}

function parseMailbox(name: string, mailbox: string): AddressResult {
  const problem = unsupportedSyntax(mailbox);
  if (problem !== undefined) return refuse(problem);
  const [local = "", domainText = "", ...more] = mailbox.split("@");
  if (!mailbox.includes("@")) return refuse("The address has no @: write it as name@example.com");
  if (more.length > 0) return refuse("The address has more than one @: write it as name@example.com");

  const localProblem = checkLocal(local);
  if (localProblem !== undefined) return refuse(localProblem);
  const domain = readAddressDomain(domainText);
  if (!domain.ok) return domain;
  const address = `${local}@${domain.domain}`;
  const octets = Buffer.byteLength(address);
  // RFC 5321 §4.5.3.1.3: a path has at most 256 octets, including the angle brackets.
  if (octets > 254) return refuse(`The address has ${octets} octets; at most 254 are allowed`);
  return { ok: true, address: { name, local, domain: domain.domain, address, smtputf8: !isAscii(local) } };
}

/** Refuses valid syntax that attackers have used to make two parsers see two different mailboxes. */
function unsupportedSyntax(mailbox: string): string | undefined {
  if (/^@[^:]*:/.test(mailbox)) return "Source routes are not accepted: write only the final address";
  if (mailbox.startsWith('"')) return "Quoted mailbox names are not accepted: write the address without quotes";
  if (/[()]/.test(mailbox)) return "Comments in parentheses are not accepted: remove them";
  if (/[,;]|:.*@/.test(mailbox))
    return "Only one address is accepted here, not a list or a group: put each address in its own entry";
  if (mailbox.includes(" ")) return "The address contains a space: remove it, or write Name <name@example.com>";
  return undefined;
}

// RFC 5321 §4.1.2 Dot-string, extended by RFC 6531 §3.3 for other scripts. `unsupportedSyntax` refuses Quoted-string.
const ATOM = String.raw`(?:[A-Za-z0-9!#$%&'*+\-/=?^_\x60{|}~]|[^\p{ASCII}\p{C}\p{Z}])+`;
const DOT_STRING = new RegExp(`^${ATOM}(?:\\.${ATOM})*$`, "u");

function checkLocal(local: string): string | undefined {
  if (local === "") return "The address has nothing before the @: write it as name@example.com";
  const octets = Buffer.byteLength(local);
  if (octets > 64) return `The part before the @ has ${octets} octets; at most 64 are allowed`;
  if (/^\.|\.$|\.\./.test(local))
    return "The part before the @ may not start or end with a dot or contain two dots in a row";
  // Check the normalized form too: a receiver that normalizes a full-width @ would otherwise see a different mailbox.
  for (const form of isAscii(local) ? [local] : [local, local.normalize("NFKC")]) {
    if (!DOT_STRING.test(form))
      return `The part before the @ contains ${oddCharacter(form)}, which is not allowed in a mailbox name`;
  }
  return undefined;
}

function oddCharacter(local: string): string {
  const odd = [...local].find((char) => char !== "." && !DOT_STRING.test(char));
  return odd === undefined
    ? "a character that reads as a dot"
    : `${/[\p{C}\p{Z}]/u.test(odd) ? "" : `${JSON.stringify(odd)} `}${codePoint(odd)}`;
}

function isAscii(text: string): boolean {
  return /^\p{ASCII}*$/u.test(text);
}

function codePoint(char: string): string {
  return `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

function refuse(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}
