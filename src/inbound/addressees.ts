/** Whom arriving mail is for, judged at RCPT: a receiving domain, a return path of ours, the feedback address, or nobody here. */
import { parseAddress } from "../mail/address.ts";
import { type ReturnPathKey, readReturnPath } from "../mail/return-path.ts";
import type { Sql } from "../store/db.ts";
import { type ReceivingDomain, receivingDomain } from "../store/domains.ts";
import { fromWireId } from "../store/ids.ts";
import { hasProvedDomain } from "../store/inbound-domains.ts";

export type Addressee =
  | { kind: "domain"; address: string; domain: ReceivingDomain }
  /** A bounce, or whatever else comes back to an email that we sent. */
  | { kind: "return"; address: string; emailId: string }
  | { kind: "feedback"; address: string };

export type Judged = { addressee: Addressee } | { reply: string };

export type AddresseesDeps = { sql: Sql; zone: string; returnPathKey: ReturnPathKey; nowMs(): number };

/** A message follows its RCPT within seconds; a change of DNS is noticed after this time. */
const keptMs = 5000;
const keptNames = 10_000;

export function createAddressees({ sql, zone, returnPathKey, nowMs }: AddresseesDeps) {
  const kept = new Map<string, { untilMs: number; domain: ReceivingDomain | "later" | undefined }>();

  async function domainOf(name: string): Promise<ReceivingDomain | "later" | undefined> {
    const known = kept.get(name);
    if (known && known.untilMs > nowMs()) return known.domain;
    const domain = (await receivingDomain(sql, name)) ?? ((await hasProvedDomain(sql, name)) ? "later" : undefined);
    if (kept.size >= keptNames) kept.clear();
    kept.set(name, { untilMs: nowMs() + keptMs, domain });
    return domain;
  }

  return async function judge(text: string): Promise<Judged> {
    // RFC 5321 Appendix C, and the percent hack of RFC 1123 §5.2.16: mail is not carried on from here.
    if (/^@|[%!]/.test(text)) return { reply: "550 5.7.1 no relaying: write to the final address" };
    const parsed = parseAddress(text);
    if (!parsed.ok) return { reply: "553 5.1.3 the address is not valid" };
    const { address, domain } = parsed.address;
    const returned = readReturnPath(address, returnPathKey);
    const emailId = returned && fromWireId("email", returned);
    // The token proves that we wrote the path, under whatever name it was published then.
    if (emailId) return { addressee: { kind: "return", address: address.toLowerCase(), emailId } };
    if (domain === `feedback.${zone}`) return { addressee: { kind: "feedback", address } };
    const receiving = await domainOf(domain);
    if (receiving === "later")
      return { reply: "451 4.7.1 the domain's MX record was not seen here yet, try again later" };
    if (receiving) return { addressee: { kind: "domain", address, domain: receiving } };
    if (domain === zone || domain.endsWith(`.${zone}`)) return { reply: "550 5.1.1 no such mailbox here" };
    return { reply: "550 5.7.1 no relaying: this domain does not receive mail here" };
  };
}
