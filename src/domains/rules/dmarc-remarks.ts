/** Remarks on a DMARC record that is valid but may not do what its owner expects. Called by judge.ts. */
import { type DmarcPolicy, type DmarcRecord, dmarcPolicies, reportsTo } from "../../mail/dmarc.ts";

/** `address`: where this service takes reports. */
export type RemarkOptions = { inherited: boolean; address?: string };

const reportTag = "rua=";

/** Clauses for the end of a sentence, the most important first. `inherited`: the record is that of a parent, whose `sp` applies. */
export function dmarcRemarks(record: DmarcRecord, { inherited, address }: RemarkOptions): string[] {
  const { policy, subdomainPolicy, nonexistentPolicy, historic } = record;
  const hasReports = record.aggregateReports.length > 0;
  // Without any valid address, the remark on reports says so.
  const warnings = record.warnings.filter((warning) => hasReports || warning !== reportTag);
  const applied = inherited ? subdomainPolicy : policy;
  const remarks: (string | false)[] = [
    record.assumed !== undefined && `${record.assumed}, so receivers read the record as p=none`,
    record.testing &&
      applied !== "none" &&
      `t=y: receivers apply ${lower(applied)} instead of ${applied} to mail that fails DMARC`,
    isWeaker(subdomainPolicy, policy) &&
      `sp=${subdomainPolicy} is weaker than p=${policy}: mail that forges a subdomain is treated more leniently`,
    isWeaker(nonexistentPolicy, subdomainPolicy) &&
      `np=${nonexistentPolicy} is weaker than the policy for subdomains that exist`,
    historic.length > 0 && historicRemark(historic),
    warnings.length > 0 && `receivers ignore ${warnings.join(", ")} (no valid value)`,
    reportRemark(record, { inherited, address }),
  ];
  return remarks.filter((remark) => remark !== false);
}

/** A parent's record is not the customer's to change here, so it has no advice. */
function reportRemark(record: DmarcRecord, { inherited, address }: RemarkOptions): string | false {
  const uri = `mailto:${address}`;
  if (record.aggregateReports.length === 0) {
    // With a second rua=, receivers would ignore the whole record.
    const hasTag = record.warnings.includes(reportTag);
    const problem = hasTag ? "its rua= has no valid address" : "it has no rua= tag";
    const advice = `; ${hasTag ? "replace it with" : "add"} rua=${uri} to see them here`;
    return `${problem}, so receivers send no reports${address && !inherited ? advice : ""}`;
  }
  if (inherited || address === undefined || reportsTo(record, address)) return false;
  return `its reports go elsewhere; add ,${uri} to rua= to see them here`;
}

/** RFC 9989, appendix A.6: `pct` was removed because receivers applied values between 0 and 100 differently. */
function historicRemark(historic: readonly string[]): string {
  const partial = historic.some((tag) => tag.startsWith("pct=") && tag !== "pct=100");
  const advice = partial ? "; to test a policy, use t=y" : "";
  return `receivers ignore ${historic.join(", ")} (historic)${advice}`;
}

function isWeaker(a: DmarcPolicy, b: DmarcPolicy): boolean {
  return dmarcPolicies.indexOf(a) < dmarcPolicies.indexOf(b);
}

/** RFC 9989 §4.7: in test mode, receivers apply one level less. */
function lower(policy: DmarcPolicy): DmarcPolicy {
  return policy === "reject" ? "quarantine" : "none";
}
