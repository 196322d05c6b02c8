/** Parses DMARC records by RFC 9989. dmarc-walk.ts finds the record that applies to a name; domains/ checks the records of a domain. */

export const dmarcPolicies = ["none", "quarantine", "reject"] as const;
export type DmarcPolicy = (typeof dmarcPolicies)[number];

export type DmarcRecord = {
  policy: DmarcPolicy;
  /** For subdomains that exist (`sp`), else `policy`. */
  subdomainPolicy: DmarcPolicy;
  /** For subdomains that do not exist (`np`), else `subdomainPolicy`. */
  nonexistentPolicy: DmarcPolicy;
  /** Whether the name is a public suffix: yes, no (then it is an organizational domain), or unknown. */
  psd: "y" | "n" | "u";
  /** `t=y`: receivers apply one level less than the policy. */
  testing: boolean;
  alignment: { dkim: "r" | "s"; spf: "r" | "s" };
  aggregateReports: string[];
  /** The record has no valid policy. Receivers read it as p=none because it requests reports. */
  assumed?: string;
  /** Tags with an invalid value, for which receivers use the default. */
  warnings: string[];
  /** Tags that RFC 9989 removed, with their values. Receivers ignore them. */
  historic: string[];
};

export type DmarcReading =
  | { ok: true; record: DmarcRecord }
  /** `malformed`: not a tag list, so it counts as no record at all. `psd` is known for other records without a policy. */
  | { ok: false; problem: string; malformed: true }
  | { ok: false; problem: string; malformed: false; psd: DmarcRecord["psd"] };

/**
 * `none`, `multiple`, `malformed`: receivers discard what the name has, and the policy of a parent applies.
 * `invalid`: the record applies, but it has no usable policy, so receivers do not use DMARC.
 */
export type DmarcDiscovery =
  | { kind: "policy"; text: string; record: DmarcRecord }
  | { kind: "none" }
  | { kind: "multiple"; texts: string[] }
  | { kind: "malformed"; text: string; problem: string }
  | { kind: "invalid"; text: string; problem: string; psd: DmarcRecord["psd"] };

/** RFC 9989 §4.10, steps 2 and 6, for all TXT values of one `_dmarc` name. */
export function discoverDmarc(texts: readonly string[]): DmarcDiscovery {
  const candidates = texts.filter(isDmarc);
  const [text] = candidates;
  if (text === undefined) return { kind: "none" };
  if (candidates.length > 1) return { kind: "multiple", texts: candidates };
  const reading = parseDmarc(text);
  if (reading.ok) return { kind: "policy", text, record: reading.record };
  const { problem } = reading;
  return reading.malformed
    ? { kind: "malformed", text, problem }
    : { kind: "invalid", text, problem, psd: reading.psd };
}

/** Whether receivers are asked to send reports to this address. */
export function reportsTo({ aggregateReports }: DmarcRecord, address: string): boolean {
  // RFC 7489 §6.2 allowed a size limit after "!".
  return aggregateReports.some((uri) => uri.toLowerCase().replace(/!.*$/, "") === `mailto:${address.toLowerCase()}`);
}

/** RFC 9989 §4.7: the version is case-sensitive and comes first. */
export function isDmarc(text: string): boolean {
  return /^[vV][ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)/.test(text);
}

export function parseDmarc(text: string): DmarcReading {
  if (!isDmarc(text)) return { ok: false, problem: "it does not start with v=DMARC1;", malformed: true };
  const tags = new Map<string, string>();
  const warnings: string[] = [];
  for (const part of text.split(";").slice(1)) {
    if (part.trim() === "") continue;
    const at = part.indexOf("=");
    // RFC 9989 §4.8: a syntax error after the version is ignored.
    if (at < 0 || part.slice(0, at).trim() === "") {
      warnings.push(part.trim().slice(0, 40));
      continue;
    }
    const name = part.slice(0, at).trim().toLowerCase();
    // RFC 6376 §3.2, which RFC 9989 §4.7 refers to: a tag that occurs twice makes the whole list invalid.
    if (tags.has(name)) return { ok: false, problem: `the tag ${name.slice(0, 40)}= occurs twice`, malformed: true };
    tags.set(name, part.slice(at + 1).trim());
  }

  const choose = <T extends string>(tag: string, allowed: readonly T[], fallback: T): T => {
    const value = tags.get(tag)?.toLowerCase();
    if (value === undefined) return fallback;
    const known = allowed.find((choice) => choice === value);
    if (known === undefined) warnings.push(`${tag}=`);
    return known ?? fallback;
  };
  const psd = choose("psd", ["y", "n", "u"], "u");
  const testing = choose("t", ["y", "n"], "n") === "y";
  const alignment = { dkim: choose("adkim", ["r", "s"], "r"), spf: choose("aspf", ["r", "s"], "r") };
  const uris = (tags.get("rua") ?? "").split(",").map((uri) => uri.trim());
  const aggregateReports = uris.filter(isReportUri);
  if (tags.has("rua") && aggregateReports.length < uris.length) warnings.push("rua=");

  const problem = policyProblem(tags);
  // RFC 9989 §4.10.1: without a valid policy, a record that requests reports counts as p=none.
  if (problem !== undefined && aggregateReports.length === 0) return { ok: false, problem, malformed: false, psd };
  const [policy, sp, np] =
    problem === undefined ? ["p", "sp", "np"].map((tag) => readPolicy(tags.get(tag))) : ["none" as const];
  const subdomainPolicy = sp ?? policy!;
  return {
    ok: true,
    record: {
      policy: policy!,
      subdomainPolicy,
      nonexistentPolicy: np ?? subdomainPolicy,
      psd,
      testing,
      alignment,
      aggregateReports,
      ...(problem !== undefined && { assumed: problem }),
      warnings,
      historic: ["pct", "rf", "ri"].filter((tag) => tags.has(tag)).map((tag) => `${tag}=${tags.get(tag)}`),
    },
  };
}

/** An invalid `sp` or `np` makes the whole policy invalid. */
function policyProblem(tags: ReadonlyMap<string, string>): string | undefined {
  if (!tags.has("p")) return "it has no p= tag";
  const bad = ["p", "sp", "np"].find((tag) => tags.has(tag) && readPolicy(tags.get(tag)) === undefined);
  return bad && `${bad}=${tags.get(bad)!.slice(0, 40)} is not one of ${dmarcPolicies.join(", ")}`;
}

function readPolicy(value: string | undefined): DmarcPolicy | undefined {
  return dmarcPolicies.find((policy) => policy === value?.toLowerCase());
}

/** RFC 9989 §4.8: a URI in which commas and exclamation marks are encoded. A size at its end is obsolete and ignored. */
function isReportUri(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:(?:[a-z0-9\-._~:/?#[\]@$&'()*+;=]|%[0-9a-f]{2})*$/i.test(
    text.replace(/![0-9]+[kmgt]?$/i, ""),
  );
}
