/** Decides how far a domain is from `p=reject`: the next step that is safe by its DMARC reports, and the record to publish for it. Called by
 * service.ts. */
import { dmarcValue } from "../../domains/rules/records.ts";
import { type DmarcPolicy, type DmarcRecord, discoverDmarc, dmarcPolicies, reportsTo } from "../../mail/dmarc.ts";
import type { DmarcCounts } from "./counts.ts";

export const dmarcSteps = ["PUBLISH", "ADD_REPORTS", "WAIT", "FIX_SOURCES", "QUARANTINE", "REJECT", "DONE"] as const;
export type DmarcStep = (typeof dmarcSteps)[number];

export type ProgressInput = {
  domain: string;
  /** The report address of this registration. */
  address: string;
  policy: FoundPolicy | undefined;
  /** Of the last 30 days. */
  recent: DmarcCounts;
  daysReported: number;
  /** The organization whose reports count the most messages. Any domain can send reports, so the reader has to know on whom they rely. */
  largest: { reporter: string; messages: number } | undefined;
  /** The sources with the most messages that failed DMARC in the last 30 days, the largest first. */
  failing: readonly { ip: string; failed: number; own: boolean }[];
};

/** The policy that applies to the domain. `name` is the name in DNS that holds it. */
export type FoundPolicy = { text: string; name: string; record: DmarcRecord };

export type Progress = {
  policy: DmarcPolicy | "";
  policyName: string;
  step: DmarcStep;
  message: string;
  recordName: string;
  recordValue: string;
};

/** A stricter policy needs reports of this many of the last 30 days, and at most this share of mail that fails. */
const needed = {
  quarantine: { days: 7, failedShare: 0.05 },
  reject: { days: 14, failedShare: 0.01 },
} as const;

export function progressOf(input: ProgressInput): Progress {
  const { domain, policy } = input;
  const ownName = `_dmarc.${domain}`;
  const at = (step: DmarcStep, message: string, value = ""): Progress => ({
    policy: policy ? appliedPolicy(input, policy) : "",
    policyName: policy?.name ?? "",
    step,
    message,
    recordName: value === "" ? "" : ownName,
    recordValue: value,
  });
  if (!policy)
    return at(
      "PUBLISH",
      `${domain} has no DMARC policy. Publish one that only asks for reports, as the only DMARC record at ${ownName}: it changes nothing for your mail.`,
      dmarcValue(input.address),
    );
  const isOwn = policy.name === ownName;
  // The list of values that a check stores is cut, and a record made of a part would lose tags.
  const change = (next?: DmarcPolicy) =>
    policy.text.endsWith("…") ? "" : changedValue(input, policy, { isOwn, next });
  const current = appliedPolicy(input, policy);
  // RFC 9990 §4: reports about a parent's policy need the authorization of the parent, which this registration does not prove.
  if (!isOwn)
    return at(
      "ADD_REPORTS",
      `The policy at ${policy.name}, which covers ${domain}, sends no reports about ${domain} to this service. Publish one record of its own at ${ownName}.`,
      change(),
    );
  if (!reportsTo(policy.record, input.address))
    return at(
      "ADD_REPORTS",
      `The record at ${ownName} sends no reports to this service. Add this service's address to it.`,
      change(),
    );
  if (current === "reject") {
    if (weakerBelow(policy.record))
      return at(
        "REJECT",
        `The policy of ${domain} is p=reject, but its subdomains have a weaker one. Remove the tags sp and np when your mail from subdomains passes DMARC.`,
        change("reject"),
      );
    return at("DONE", `The policy of ${domain} is p=reject. Nothing is left to do.`);
  }
  const next = current === "none" ? "quarantine" : "reject";
  const { days, failedShare } = needed[next];
  const { daysReported } = input;
  if (daysReported < days)
    return at(
      "WAIT",
      `Reports cover ${daysReported} of the last 30 days. Wait until they cover ${days}, so that sources that send rarely are seen too.`,
    );
  const { messages, aligned } = input.recent;
  if (messages === 0)
    return at("WAIT", `The reports of ${daysReported} of the last 30 days count no messages. Wait until they do.`);
  const failed = messages - aligned;
  const whose = input.largest
    ? ` ${input.largest.reporter} reported ${percent(input.largest.messages / Math.max(messages, 1))} of the messages.`
    : "";
  const numbers = `In the last 30 days, ${count(failed)} of ${count(messages)} reported messages failed DMARC (${percent(failed / Math.max(messages, 1))}), on ${daysReported} reported days.${whose}`;
  if (failed > failedShare * messages)
    return at(
      "FIX_SOURCES",
      `${numbers} ${sourcesText(input.failing)} Authenticate those that are yours with DKIM; at most ${percent(failedShare)} should fail before p=${next}. If no source that fails is yours, p=${next} stops them, and you can publish it now.`,
    );
  return at(
    next === "quarantine" ? "QUARANTINE" : "REJECT",
    `${numbers} That is little enough for p=${next}.`,
    change(next),
  );
}

/** What receivers apply to mail from the domain itself. RFC 9989 §4.7: with `t=y`, one level less than the record says. */
function appliedPolicy(input: ProgressInput, policy: FoundPolicy): DmarcPolicy {
  const declared = declaredPolicy(input, policy);
  if (!policy.record.testing) return declared;
  return declared === "reject" ? "quarantine" : "none";
}

/** RFC 9989 §4.7: a parent's `sp` covers its subdomains. */
function declaredPolicy({ domain }: ProgressInput, { name, record }: FoundPolicy): DmarcPolicy {
  return name === `_dmarc.${domain}` ? record.policy : record.subdomainPolicy;
}

function weakerBelow({ subdomainPolicy, nonexistentPolicy }: DmarcRecord): boolean {
  return subdomainPolicy !== "reject" || nonexistentPolicy !== "reject";
}

/** RFC 9989 removed these tags. `t=y` weakens a policy, so it goes with the next one. */
const historicTags = ["pct", "rf", "ri"];

/** The current record with our address and, unless it stays, the next policy. Other tags, and the report addresses of others, stay. */
function changedValue(
  input: ProgressInput,
  policy: FoundPolicy,
  { isOwn, next }: { isOwn: boolean; next: DmarcPolicy | undefined },
): string {
  const { address } = input;
  const { text, record } = policy;
  const dropped = [
    ...historicTags,
    "p",
    // What a parent says about its subdomains does not belong in the record of one of them.
    ...(isOwn ? [] : ["sp", "np", "psd"]),
    ...(next ? ["t"] : []),
    ...(next && appliedPolicy(input, policy) === "reject" ? ["sp", "np"] : []),
  ];
  const tags = text
    .split(";")
    .slice(1)
    .map((part) => part.trim())
    .filter((part) => part !== "" && !dropped.includes(nameOf(part)) && !isInvalidPolicy(part));
  const rua = tags.find((part) => nameOf(part) === "rua");
  const uris = tagValue(rua ?? "")
    .split(",")
    .map((uri) => uri.trim())
    .filter((uri) => uri !== "");
  const addresses = `rua=${[...uris, ...(reportsTo(record, address) ? [] : [`mailto:${address}`])].join(",")}`;
  const others = tags.map((part) => (part === rua ? addresses : part));
  const value = ["v=DMARC1", `p=${next ?? declaredPolicy(input, policy)}`, ...others];
  return (rua ? value : [...value, addresses]).join("; ");
}

/** RFC 9989 §4.10.1: because of such a tag, receivers would read the new record as p=none, too. */
function isInvalidPolicy(part: string): boolean {
  const value = tagValue(part).toLowerCase();
  return ["sp", "np"].includes(nameOf(part)) && !dmarcPolicies.some((policy) => policy === value);
}

function nameOf(part: string): string {
  return part.split("=")[0]!.trim().toLowerCase();
}

function tagValue(part: string): string {
  return part.slice(part.indexOf("=") + 1).trim();
}

function sourcesText(failing: ProgressInput["failing"]): string {
  if (failing.length === 0) return "";
  const list = failing
    .map(({ ip, failed, own }) => `${ip} (${count(failed)}${own ? ", this service" : ""})`)
    .join(", ");
  return `Most failures came from ${list}.`;
}

function count(messages: number): string {
  return messages.toLocaleString("en-US");
}

function percent(share: number): string {
  return `${(share * 100).toLocaleString("en-US", { maximumFractionDigits: 1 })} %`;
}

/** The policy that a check of the domain found. The note of a record that a parent covers names that parent's record. */
export function foundPolicy(
  domain: string,
  stored: { status: string; discoveredValue: string; note: string } | undefined,
): FoundPolicy | undefined {
  if (stored?.status !== "found") return undefined;
  const found = discoverDmarc([stored.discoveredValue]);
  if (found.kind !== "policy") return undefined;
  const covering = /covered by the policy at ([^\s,;]+)/.exec(stored.note)?.[1];
  return { text: found.text, record: found.record, name: covering ?? `_dmarc.${domain}` };
}
