/**
 * Judges each expected record by its purpose: a record is found if it serves the purpose, not only if the strings are
 * equal. result.ts calls `judgeRecord` for every record of a check; check.ts calls `judgeView` to decide what to look up.
 */

import { canonicalName, joinText, type Lookup, sameName, showText } from "../../dns/record.ts";
import { parseDkimRecord, samePublicKey } from "../../mail/dkim-record.ts";
import { discoverDmarc } from "../../mail/dmarc.ts";
import { isSpf } from "../../mail/spf.ts";
import type { RecordView } from "./record-view.ts";
import { type ExpectedRecord, nameInZone, type RecordStatus } from "./records.ts";

/** The part of a judgment that is kept from one check to the next. */
export type RecordState = {
  status: RecordStatus;
  discoveredValue: string;
  note: string;
  /** SPF only: one record that replaces those in DNS and authorizes this service. Absent if there is none. */
  mergedValue?: string;
};

export type RecordFinding = {
  recursive: RecordView;
  /** The answer of the domain's own servers. Absent if they were not queried or did not answer. */
  authoritative?: RecordView;
  /** The record was found at this name instead, because the provider appended its zone. */
  misplacedAt?: string;
};

export type Judgment = RecordState & {
  /** The domain's own servers return the right value, but the resolver does not yet. */
  waiting: boolean;
  /** DNS did not answer in this check; the status is the previous one. */
  unanswered: boolean;
};

export const unchecked: RecordState = { status: "pending", discoveredValue: "", note: "" };

export function judgeRecord(
  record: ExpectedRecord,
  finding: RecordFinding,
  previous: RecordState = unchecked,
): Judgment {
  const seen = judgeView(record, finding.recursive);
  const own = finding.authoritative && judgeView(record, finding.authoritative);

  if (seen.status === "unknown") {
    return { ...previous, note: `${seen.note}; the last known status is kept`, waiting: false, unanswered: true };
  }
  if (seen.status === "found") {
    return {
      status: "found",
      discoveredValue: seen.discoveredValue,
      note: seen.note,
      waiting: false,
      unanswered: false,
    };
  }
  const ownHasIt = own?.status === "found";
  if (ownHasIt && previous.status === "found") {
    const note = "a resolver returns another value, but your own DNS servers return the right one";
    return { status: "found", discoveredValue: own.discoveredValue, note, waiting: false, unanswered: false };
  }
  const note = ownHasIt
    ? "your own DNS servers return the right value; resolvers still cache the old one"
    : finding.misplacedAt !== undefined
      ? misplacedNote(record, finding.misplacedAt)
      : seen.note;
  const { status, discoveredValue, mergedValue } = seen;
  return { status, discoveredValue, note, ...(mergedValue && { mergedValue }), waiting: ownHasIt, unanswered: false };
}

/**
 * The judgment from a single source of DNS. `unknown`: it did not answer. The note is a clause that fits at the end of
 * a sentence.
 */
export type ViewJudgment = {
  status: "found" | "mismatch" | "missing" | "unknown";
  discoveredValue: string;
  note: string;
  mergedValue?: string;
};

export function judgeView(record: ExpectedRecord, view: RecordView): ViewJudgment {
  switch (record.purpose) {
    case "DKIM":
      return judgeDkim(record, view);
    case "SPF":
    case "MAIL_FROM_SPF":
      return judgeSpf(record, view);
    case "DMARC":
      return judgeDmarc(view);
    case "MX_INBOUND":
    case "MAIL_FROM_MX":
      return judgeMx(record, view);
  }
}

export function judgeDkim(record: ExpectedRecord, view: RecordView): ViewJudgment {
  const cname = view.cname?.kind === "found" ? canonicalName(view.cname.records[0]?.target ?? "") : undefined;
  if (cname !== undefined && sameName(cname, record.value)) return found(cname);

  const texts = textsOf(view.txt);
  const key = texts.length === 1 ? judgeKey(record, texts[0] ?? "") : undefined;
  if (key?.status === "found") return key;
  if (cname !== undefined) return mismatch(cname, cnameNote(record, cname));
  if (key !== undefined) return key;
  if (texts.length > 1)
    return mismatch(show(texts), "the name has several TXT records; a DKIM key must be the only one");
  return unanswered(view.cname) ?? unanswered(view.txt) ?? missing();
}

export function judgeSpf(record: ExpectedRecord, view: RecordView): ViewJudgment {
  const silent = unanswered(view.txt);
  if (silent) return silent;
  const texts = textsOf(view.txt);
  const include = record.value.split(" ")[1] ?? "";
  const verdict = view.spf;
  const merged = view.merged;
  const wrong = (value: string, note: string): ViewJudgment => ({
    ...mismatch(value, merged?.problem ? `${note}; merged with this service, ${merged.problem}` : note),
    ...(merged?.value && { mergedValue: merged.value }),
  });
  if (verdict === undefined || verdict.kind === "none") {
    const near = texts.filter((text) => /^["'\s]*v?\s*=?\s*spf/i.test(text));
    if (near.length > 0) return wrong(show(near), nearMissNote(near[0] ?? ""));
    return missing();
  }
  const value = show(verdict.texts);
  switch (verdict.kind) {
    case "authorized":
      return found(value, verdict.problem);
    case "temperror":
      return { status: "unknown", discoveredValue: value, note: verdict.problem };
    case "multiple":
      return wrong(
        value,
        `${record.name} has ${verdict.texts.length} SPF records, so receivers reject all of them; delete them and add one merged record`,
      );
    case "permerror":
      return wrong(value, `the SPF record is invalid: ${verdict.problem}`);
    case "not_authorized":
      return wrong(value, `the SPF record does not authorize this service; add ${include} to it`);
  }
}

export function judgeDmarc(view: RecordView): ViewJudgment {
  const silent = unanswered(view.txt);
  if (silent) return silent;
  const texts = textsOf(view.txt);
  const own = discoverDmarc(texts);
  switch (own.kind) {
    case "policy":
      return found(showText(own.text), own.record.warnings.map((tag) => `receivers ignore its ${tag}= tag`).join(", "));
    case "multiple":
      return mismatch(show(own.texts), "the name has several DMARC records, so receivers ignore all of them; keep one");
    case "invalid":
      return mismatch(showText(own.text), `the DMARC record is invalid: ${own.problem}`);
    case "none":
      break;
  }
  // RFC 7489 §6.6.3: records that are not DMARC are discarded, and the organization's policy covers the sub-domain.
  if (view.organization !== undefined) {
    const { name, txt } = view.organization;
    const organization = discoverDmarc(textsOf(txt));
    if (organization.kind === "policy") return found(showText(organization.text), `covered by the policy at ${name}`);
    const unsure = unanswered(txt);
    if (unsure && texts.length === 0) return unsure;
  }
  return texts.length > 0 ? mismatch(show(texts), "no TXT record at the name starts with v=DMARC1;") : missing();
}

export function judgeMx(record: ExpectedRecord, view: RecordView): ViewJudgment {
  const silent = unanswered(view.mx);
  if (silent) return silent;
  if (view.mx?.kind !== "found") return missing();
  const records = view.mx.records.toSorted((a, b) => a.priority - b.priority || (a.exchange < b.exchange ? -1 : 1));
  const value = showText(records.map((mx) => `${mx.priority} ${canonicalName(mx.exchange) || "."}`).join(", "));
  const lowest = records[0]?.priority;
  const ours = records.find((mx) => sameName(mx.exchange, record.value));
  if (ours !== undefined && ours.priority === lowest) return found(value);
  if (ours !== undefined)
    return mismatch(
      value,
      `another host comes before ${record.value}; give ${record.value} the lowest priority number`,
    );
  const appended = records.find((mx) => isAppended(record, mx.exchange));
  if (appended) return mismatch(value, trailingDotNote(record));
  // RFC 7505 §3: a single dot means that the name accepts no mail at all.
  if (records.length === 1 && canonicalName(records[0]?.exchange ?? "") === "") {
    return mismatch(value, "the name has a null MX, which refuses all mail; replace it");
  }
  return mismatch(value, `mail for ${record.name} goes to another host`);
}

function judgeKey(record: ExpectedRecord, text: string): ViewJudgment {
  const value = showText(text);
  const reading = parseDkimRecord(text);
  if (!reading.ok) return mismatch(value, `the TXT record is not a DKIM key: ${reading.problem}`);
  const { keyType, publicKey } = reading.record;
  // RFC 6376 §3.6.1: an empty p= revokes the key.
  if (publicKey === "") return mismatch(value, "the DKIM key is revoked (p= is empty)");
  if (keyType === "rsa" && record.publicKey !== undefined && samePublicKey(publicKey, record.publicKey))
    return found(value);
  return mismatch(value, "the TXT record contains a different DKIM key");
}

function misplacedNote(record: ExpectedRecord, at: string): string {
  const name = nameInZone(record);
  return at.startsWith(`${record.name}.`)
    ? `it was found at ${at}: your provider appends ${record.dnsZone} to the name, so enter the name without the domain: ${name}`
    : `it was found at ${at}: the zone is ${record.dnsZone}, so enter the name ${name}`;
}

function cnameNote(record: ExpectedRecord, cname: string): string {
  return isAppended(record, cname)
    ? trailingDotNote(record)
    : `the CNAME points to another name; it must point to ${record.value}`;
}

function isAppended(record: ExpectedRecord, target: string): boolean {
  return canonicalName(target).startsWith(`${canonicalName(record.value)}.`);
}

function trailingDotNote(record: ExpectedRecord): string {
  return `your provider appended its own domain to the value; end the value with a dot: ${record.value}.`;
}

function nearMissNote(text: string): string {
  if (/^\s*["']/.test(text)) return "the quotation marks are part of the value; enter it without them";
  return isSpf(text.trim()) ? "the value starts with white space" : "the value must start with v=spf1 and a space";
}

function textsOf(lookup: Lookup<"TXT"> | undefined): string[] {
  return lookup?.kind === "found" ? lookup.records.map(joinText) : [];
}

function unanswered(lookup: Lookup | undefined): ViewJudgment | undefined {
  if (lookup?.kind === "nxdomain" || lookup?.kind === "nodata" || lookup?.kind === "found") return undefined;
  const why = lookup?.kind === "servfail" ? `failed (${lookup.reason})` : "did not answer in time";
  return { status: "unknown", discoveredValue: "", note: `DNS ${why}` };
}

function show(texts: readonly string[]): string {
  return showText(texts.join(" | "));
}

function found(discoveredValue: string, note = ""): ViewJudgment {
  return { status: "found", discoveredValue, note };
}

function mismatch(discoveredValue: string, note: string): ViewJudgment {
  return { status: "mismatch", discoveredValue, note };
}

function missing(): ViewJudgment {
  return { status: "missing", discoveredValue: "", note: "nothing is published there yet" };
}
