/** The operator's mailbox: mail to postmaster of this server (RFC 5321 §4.5.1) is stored in the first workspace, which is the operator's. Called
 * by addressees.ts. A tenant's domain has its own postmaster, who is an address of the domain like any other. */
import type { ReceivingDomain } from "../domains/store/domains.ts";

export type Postmaster = { address: string; domain: ReceivingDomain };

/** The mailbox belongs to no registered domain. */
const noDomain = "00000000-0000-0000-0000-000000000000";

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
