/** Parses DMARC records and selects the policy of a name. domains/ calls it to check a domain's records. */
import { organizationalDomain } from "../dns/name.ts";

export const dmarcPolicies = ["none", "quarantine", "reject"] as const;
export type DmarcPolicy = (typeof dmarcPolicies)[number];

export type DmarcRecord = {
  policy: DmarcPolicy;
  subdomainPolicy: DmarcPolicy;
  alignment: { dkim: "r" | "s"; spf: "r" | "s" };
  percent: number;
  aggregateReports: string[];
  /** Tags with an invalid value, for which receivers use the default. */
  warnings: string[];
};

export type DmarcReading = { ok: true; record: DmarcRecord } | { ok: false; problem: string };

/** `none`: the name has no record, so the organizational domain applies. `multiple`, `invalid`: receivers apply no policy at all. */
export type DmarcDiscovery =
  | { kind: "policy"; text: string; record: DmarcRecord }
  | { kind: "none" }
  | { kind: "multiple"; texts: string[] }
  | { kind: "invalid"; text: string; problem: string };

/** Applies RFC 7489 §6.6.3 to all TXT values of one `_dmarc` name. */
export function discoverDmarc(texts: readonly string[]): DmarcDiscovery {
  const candidates = texts.filter(isDmarc);
  const [text] = candidates;
  if (text === undefined) return { kind: "none" };
  if (candidates.length > 1) return { kind: "multiple", texts: candidates };
  const reading = parseDmarc(text);
  return reading.ok
    ? { kind: "policy", text, record: reading.record }
    : { kind: "invalid", text, problem: reading.problem };
}

/** RFC 7489 §6.4: the version is case-sensitive and comes first. */
export function isDmarc(text: string): boolean {
  return /^[vV][ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)/.test(text);
}

export function parseDmarc(text: string): DmarcReading {
  if (!isDmarc(text)) return { ok: false, problem: "it does not start with v=DMARC1;" };
  const tags = new Map<string, string>();
  for (const part of text.split(";").slice(1)) {
    if (part.trim() === "") continue;
    const match = /^[ \t]*([A-Za-z0-9_-]+)[ \t]*=[ \t]*(.*)$/s.exec(part);
    if (!match) return { ok: false, problem: `${JSON.stringify(part.trim())} is not a tag=value pair` };
    const name = (match[1] ?? "").toLowerCase();
    if (tags.has(name)) return { ok: false, problem: `the tag ${name}= occurs twice` };
    tags.set(name, trimBlanksAtEnd(match[2]!));
  }
  const policy = readPolicy(tags.get("p"));
  if (!tags.has("p")) return { ok: false, problem: "it has no p= tag" };
  if (!policy) return { ok: false, problem: `p=${tags.get("p")} is not one of ${dmarcPolicies.join(", ")}` };
  const subdomainPolicy = tags.has("sp") ? readPolicy(tags.get("sp")) : policy;
  if (!subdomainPolicy) return { ok: false, problem: `sp=${tags.get("sp")} is not one of ${dmarcPolicies.join(", ")}` };

  // RFC 7489 §6.3: an invalid value of any other tag is replaced by its default; the record stays valid.
  const warnings: string[] = [];
  const choose = <T extends string>(tag: string, allowed: readonly T[], fallback: T): T => {
    const value = tags.get(tag)?.toLowerCase();
    if (value === undefined) return fallback;
    const known = allowed.find((choice) => choice === value);
    if (known === undefined) warnings.push(tag);
    return known ?? fallback;
  };
  const alignment = { dkim: choose("adkim", ["r", "s"], "r"), spf: choose("aspf", ["r", "s"], "r") };
  const percent = readPercent(tags.get("pct"));
  if (percent === undefined) warnings.push("pct");
  const aggregateReports = readUris(tags.get("rua"));
  if (aggregateReports === undefined) warnings.push("rua");
  return {
    ok: true,
    record: {
      policy,
      subdomainPolicy,
      alignment,
      percent: percent ?? 100,
      aggregateReports: aggregateReports ?? [],
      warnings,
    },
  };
}

/** The `_dmarc` name of the organizational domain that covers a subdomain; undefined for an organizational domain itself. */
export function organizationPolicyName(domain: string): string | undefined {
  const organization = organizationalDomain(domain);
  return organization === domain ? undefined : `_dmarc.${organization}`;
}

/** A loop instead of a pattern, which is slow on long runs of spaces. */
function trimBlanksAtEnd(text: string): string {
  let end = text.length;
  while (end > 0 && (text[end - 1] === " " || text[end - 1] === "\t")) end--;
  return text.slice(0, end);
}

function readPolicy(value: string | undefined): DmarcPolicy | undefined {
  return dmarcPolicies.find((policy) => policy === value?.toLowerCase());
}

function readPercent(value: string | undefined): number | undefined {
  if (value === undefined) return 100;
  return /^\d{1,3}$/.test(value) && Number(value) <= 100 ? Number(value) : undefined;
}

function readUris(value: string | undefined): string[] | undefined {
  if (value === undefined) return [];
  const uris = value.split(",").map((uri) => uri.trim());
  return uris.every((uri) => /^[a-z][a-z0-9+.-]*:[^\s,;]+$/i.test(uri)) ? uris : undefined;
}
