/** Finds the addressee of inbound mail: a receiving domain, a return path of ours, the feedback address, a report address, or the postmaster. Other
 * addresses get the SMTP reply that rejects them. Called by receive.ts at RCPT and again for the message. */

import { type ReceivingDomain, receivingDomain } from "../domains/store/domains.ts";
import { parseAddress } from "../mail/address.ts";
import { type ReturnPathKey, readReturnPath } from "../mail/return-path.ts";
import { fromWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { findByToken, isToken, type ReportedDomain } from "../reports/store/domains.ts";
import { hasProvedDomain } from "./store/inbound.ts";

export type Addressee =
  | { kind: "domain"; address: string; domain: ReceivingDomain }
  /** The return path of a copy that we sent, for bounces and automatic answers. Without a position, it is a path of an earlier release. */
  | { kind: "return"; address: string; emailId: string; position: number | undefined }
  | { kind: "feedback"; address: string }
  /** Of DMARC and TLS reports about a registered domain. */
  | { kind: "report"; address: string; domain: ReportedDomain };

export type AddresseeResult = { addressee: Addressee } | { reply: string };

/** `nowMs` is a monotonic clock. */
export type AddresseesDeps = {
  sql: Sql;
  zone: string;
  /** The keys of valid return paths. They change when the secret is replaced. */
  returnPathKeys(): readonly ReturnPathKey[];
  postmasterOf: ReturnType<typeof createPostmaster>;
  nowMs?(): number;
};

/** Long enough for RCPT and the message that follows. A change of the domain takes effect after this time. */
const cacheMs = 5000;
const maxDomains = 10_000;

export function createAddressees(deps: AddresseesDeps) {
  const { sql, zone, nowMs = () => performance.now() } = deps;
  const cached = new Map<string, { untilMs: number; domain: ReceivingDomain | "later" | undefined }>();

  /** `later`: the domain is registered, but its MX record has not been seen yet. */
  async function domainOf(name: string): Promise<ReceivingDomain | "later" | undefined> {
    const entry = cached.get(name);
    if (entry && entry.untilMs > nowMs()) return entry.domain;
    const domain = (await receivingDomain(sql, name)) ?? ((await hasProvedDomain(sql, name)) ? "later" : undefined);
    if (cached.size >= maxDomains) cached.clear();
    cached.set(name, { untilMs: nowMs() + cacheMs, domain });
    return domain;
  }

  async function reportAddressee(address: string): Promise<AddresseeResult> {
    const [token = ""] = address.split("@");
    const domain = isToken(token) ? await findByToken(sql, token) : undefined;
    return domain ? { addressee: { kind: "report", address, domain } } : { reply: "550 5.1.1 no such mailbox here" };
  }

  return async function findAddressee(text: string): Promise<AddresseeResult> {
    // Source routes (RFC 5321 Appendix C) and the percent hack (RFC 1123 §5.2.16) ask for relaying.
    if (/^@|[%!]/.test(text)) return { reply: "550 5.7.1 no relaying: send to the final address" };
    const postmaster = deps.postmasterOf(text);
    if (postmaster) return { addressee: { kind: "domain", address: postmaster.address, domain: postmaster.domain } };
    const parsed = parseAddress(text);
    if (!parsed.ok) return { reply: "553 5.1.3 the address is not valid" };
    const { address, domain } = parsed.address;
    const returned = readReturnPath(address, deps.returnPathKeys());
    const emailId = returned && fromWireId("email", returned.emailId);
    // The token proves that we made the return path, so the domain does not matter: it may have been renamed or deleted since.
    if (emailId) {
      const { position } = returned;
      return { addressee: { kind: "return", address: address.toLowerCase(), emailId, position } };
    }
    if (domain === `feedback.${zone}`) return { addressee: { kind: "feedback", address } };
    if (domain === `reports.${zone}`) return await reportAddressee(address.toLowerCase());
    const receiving = await domainOf(domain);
    if (receiving === "later")
      return { reply: "451 4.7.1 the domain's MX record has not been verified yet, try again later" };
    if (receiving) return { addressee: { kind: "domain", address, domain: receiving } };
    if (domain === zone || domain.endsWith(`.${zone}`)) return { reply: "550 5.1.1 no such mailbox here" };
    return { reply: "550 5.7.1 no relaying: this domain does not receive mail here" };
  };
}

export type Postmaster = { address: string; domain: ReceivingDomain };

/** The mailbox belongs to no registered domain. */
const noDomain = "00000000-0000-0000-0000-000000000000";

/** Mail to postmaster of this server (RFC 5321 §4.5.1) is stored in the first workspace, which is the operator's. A tenant's domain has its
 * own postmaster, who is an address of the domain like any other. */
export function createPostmaster(deps: { workspaceId: string; hostname: string; zone: string }) {
  const { workspaceId, zone } = deps;
  const names = new Set([zone, deps.hostname.toLowerCase()]);
  /** Undefined for every other address. */
  return function postmasterOf(text: string): Postmaster | undefined {
    // Without a domain, in any case: RFC 5321 §4.1.1.3.
    const [name, domain, ...rest] = text.toLowerCase().split("@");
    if (name !== "postmaster" || rest.length > 0) return undefined;
    const isOurs = domain === undefined || names.has(domain) || domain.endsWith(`.${zone}`);
    return isOurs
      ? { address: `postmaster@${domain ?? zone}`, domain: { id: noDomain, workspaceId, domain: zone } }
      : undefined;
  };
}
