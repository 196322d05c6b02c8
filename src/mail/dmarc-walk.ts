/** Finds the DMARC record that applies to a name, and its organizational domain, by the DNS tree walk of RFC 9989. domains/ calls it. */
import { type DmarcDiscovery, type DmarcRecord, discoverDmarc } from "./dmarc.ts";

/** RFC 9989 §4.10, step 4: a name with eight or more labels continues with its last seven, so a walk has at most eight queries. */
const labelsAfterFirst = 7;

/** One name of a walk. `texts` are the TXT values of `_dmarc.<domain>`; undefined: DNS did not answer. */
export type WalkStep = { domain: string; texts: readonly string[] | undefined };

export type Applied = Extract<DmarcDiscovery, { kind: "policy" | "invalid" }>;

export type DmarcWalk = {
  /** The record that applies. Absent: no name has one. */
  applied?: Applied & { domain: string };
  /** Absent if the walk is incomplete. */
  organization?: string;
  /** DNS did not answer for a name that the walk needs. `applied` is then the last record that was found, and may be wrong. */
  incomplete: boolean;
};

/** The names of a walk, the domain first. All can be looked up at the same time: which of them count is decided afterwards. */
export function walkDomains(domain: string): string[] {
  const labels = domain.split(".");
  const parents = labels.slice(Math.max(1, labels.length - labelsAfterFirst));
  return [domain, ...parents.map((_, at) => parents.slice(at).join("."))];
}

/** `steps`: the names of `walkDomains` in their order, with their answers. */
export function walkDmarc(domain: string, steps: readonly WalkStep[]): DmarcWalk {
  const found: (Applied & { domain: string })[] = [];
  for (const step of steps) {
    if (step.texts === undefined) return { applied: found.at(found[0]?.domain === domain ? 0 : -1), incomplete: true };
    const discovery = discoverDmarc(step.texts);
    if (discovery.kind !== "policy" && discovery.kind !== "invalid") continue;
    found.push({ ...discovery, domain: step.domain });
    if (psdOf(discovery) !== "u") break;
  }
  const organization = organizationOf(domain, found);
  const last = found.at(-1);
  // RFC 9989 §4.10.1: the record of the domain, of its organizational domain, or of the public suffix.
  const applied =
    found.find((one) => one.domain === domain) ??
    found.find((one) => one.domain === organization) ??
    (last && psdOf(last) === "y" ? last : undefined);
  return { applied, organization, incomplete: false };
}

/** RFC 9989 §4.10.2. Only the last record found can have a `psd` other than "u". */
function organizationOf(domain: string, found: readonly (Applied & { domain: string })[]): string {
  const last = found.at(-1);
  if (last === undefined) return domain;
  if (psdOf(last) !== "y" || last.domain === domain) {
    // A public suffix that is itself the author domain is its own organizational domain.
    return last.domain;
  }
  const labels = last.domain.split(".").length + 1;
  return domain.split(".").slice(-labels).join(".");
}

export function psdOf(found: Applied): DmarcRecord["psd"] {
  return found.kind === "policy" ? found.record.psd : found.psd;
}
