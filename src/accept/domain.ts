/** Why mail from a domain is not taken in, in words that say what to do about it. */
import { Problem } from "../rules/problem.ts";
import type { MuteDomain } from "../store/emails.ts";

/** Undefined: the workspace has no such domain. */
export function domainRefused(name: string, domain: MuteDomain | undefined): Problem {
  if (!domain)
    return new Problem(
      "failed_precondition",
      `${name} is not a domain of this workspace. Register it with AddDomain, publish its DNS records, then send.`,
    );
  return new Problem(
    "failed_precondition",
    `${name} cannot send yet (status ${domain.status}). ${domain.note || "Publish its DKIM records, then call VerifyDomain."}`,
  );
}

export function keyRefused(allowed: string, name: string): Problem {
  return new Problem("permission_denied", `This key may send from ${allowed} only, not from ${name}.`);
}
