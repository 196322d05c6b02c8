/** The recipients that a key may send to: addresses, domains, and `*.` with a domain for its subdomains. Called by emails/accept.ts,
 * settings.ts and covers.ts. */
import { parseAddress } from "../../mail/address.ts";
import { readAddressDomain } from "../../mail/address-domain.ts";

/** The entry in lower case, with A-labels. Without regard to case in the mailbox name: two mailboxes that differ only in case are one
 * in practice, and a caller writes them as it likes. */
export function readRecipientRule(text: string): { ok: true; rule: string } | { ok: false; reason: string } {
  if (text.includes("@")) {
    const read = parseAddress(text);
    if (!read.ok) return read;
    if (read.address.name !== "" || /[<>]/.test(text))
      return { ok: false, reason: "must be an address without a name, such as qa@example.com" };
    return { ok: true, rule: normal(read.address.address) };
  }
  const isWild = text.startsWith("*.");
  const read = readAddressDomain(isWild ? text.slice(2) : text);
  if (!read.ok) return read;
  return { ok: true, rule: isWild ? `*.${read.domain}` : read.domain };
}

/** Whether one of the rules allows the address, which has been parsed. */
export function allowsRecipient(rules: readonly string[], address: string): boolean {
  const text = normal(address);
  const domain = text.slice(text.lastIndexOf("@") + 1);
  return rules.some((rule) => rule === text || matchesDomain(rule, domain));
}

/** Whether `outer` allows every recipient that `inner` allows. */
export function containsRecipients(outer: string, inner: string): boolean {
  if (outer === inner) return true;
  if (inner.startsWith("*.")) return outer.startsWith("*.") && inner.endsWith(outer.slice(1));
  return matchesDomain(outer, inner.slice(inner.lastIndexOf("@") + 1));
}

function matchesDomain(rule: string, domain: string): boolean {
  return rule === domain || (rule.startsWith("*.") && domain.endsWith(rule.slice(1)));
}

function normal(address: string): string {
  return address.normalize("NFC").toLowerCase();
}
