/**
 * Judges each expected record by its purpose: a record is found if it serves the purpose, not only if the strings are
 * equal. result.ts calls `judgeRecord` for every record of a check; check.ts calls `judgeView` to decide what to look up.
 */

import { canonicalName, joinText, type Lookup, sameName, showText } from "../../dns/record.ts";
import { parseDkimRecord, samePublicKey } from "../../mail/dkim-record.ts";
import { type DmarcDiscovery, discoverDmarc } from "../../mail/dmarc.ts";
import { walkDmarc } from "../../mail/dmarc-walk.ts";
import { isSpf } from "../../mail/spf.ts";
import { dmarcRemarks } from "./dmarc-remarks.ts";
import type { RecordView } from "./record-view.ts";
import { type ExpectedRecord, nameInZone, type RecordStatus } from "./records.ts";
import { tlsReportMerge } from "./tls-report-merge.ts";

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

  if (seen.status === "unknown") return kept(previous, seen.note);
  if (seen.unless !== undefined && previous.status === "found" && coverIn(previous.note) === seen.unless)
    return kept(previous, seen.unless);
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

/** For a record about which DNS did not answer. `why` is the first clause of the note. Which parent's policy covers the domain stays in it. */
function kept(previous: RecordState, why: string): Judgment {
  const cover = coverIn(previous.note);
  const note = [why, "the last known status is kept", ...(cover && cover !== why ? [cover] : [])].join("; ");
  return { ...previous, note, waiting: false, unanswered: true };
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
  /**
   * A top-level domain did not answer. Private ones never do, so this counts as no policy, unless the previous check found the domain
   * covered by it: its note has this clause.
   */
  unless?: string;
};

export function judgeView(record: ExpectedRecord, view: RecordView): ViewJudgment {
  switch (record.purpose) {
    case "DKIM":
      return judgeDkim(record, view);
    case "SPF":
    case "MAIL_FROM_SPF":
      return judgeSpf(record, view);
    case "DMARC":
      return judgeDmarc(record, view);
    case "TLS_REPORT":
      return judgeTlsReport(record, view);
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
  // The key may be behind the CNAME, in a zone that does not answer now. A loop of CNAMEs never leads to it.
  const isLoop = view.txt?.kind === "servfail" && view.txt.reason === "cname-loop";
  const silentTarget = record.type === "TXT" && !isLoop ? unanswered(view.txt) : undefined;
  if (cname !== undefined) return silentTarget ?? mismatch(cname, cnameNote(record, cname));
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

export function judgeDmarc(record: ExpectedRecord, view: RecordView): ViewJudgment {
  const silent = unanswered(view.txt);
  if (silent) return silent;
  const texts = textsOf(view.txt);
  const { domain } = record;
  const parents = view.parents ?? [];
  const silentTop = parents.find(({ domain: parent, txt }) => !parent.includes(".") && unanswered(txt));
  const walk = walkDmarc(domain, [
    { domain, texts },
    ...parents.map((parent) => ({
      domain: parent.domain,
      texts: parent !== silentTop && unanswered(parent.txt) ? undefined : textsOf(parent.txt),
    })),
  ]);
  const { applied } = walk;
  const own = discoverDmarc(texts);
  const discarded = discardedNote(own);
  if (applied?.kind === "policy") {
    const inherited = applied.domain !== domain;
    const remarks = dmarcRemarks(applied.record, { inherited, address: record.value.split("mailto:")[1] });
    const cover = inherited && coverNote(applied.domain);
    return found(showText(applied.text), [cover, inherited && discarded, ...remarks].filter(Boolean).join("; "));
  }
  if (own.kind === "invalid") return mismatch(showText(own.text), `the DMARC record is invalid: ${own.problem}`);
  if (walk.incomplete) return parents.map(({ txt }) => unanswered(txt)).find(Boolean) ?? missing();
  return { ...withoutPolicy(), ...(silentTop && { unless: coverNote(silentTop.domain) }) };

  function withoutPolicy(): ViewJudgment {
    if (own.kind === "multiple") return mismatch(show(own.texts), `${discarded}; keep one`);
    if (own.kind === "malformed") return mismatch(showText(own.text), `the DMARC record is invalid: ${own.problem}`);
    if (texts.length > 0) return mismatch(show(texts), "no TXT record at the name starts with v=DMARC1;");
    if (applied?.kind !== "invalid") return missing();
    const { note, ...rest } = missing();
    return { ...rest, note: `${note}, and the record at _dmarc.${applied.domain} is invalid: ${applied.problem}` };
  }
}

/** The start of the note of a record that a parent publishes. */
export function coverNote(parent: string): string {
  return `covered by the policy at _dmarc.${parent}`;
}

function coverIn(note: string): string | undefined {
  return note.split("; ").find((clause) => clause.startsWith(coverNote("")));
}

/** Why receivers ignore the DMARC records of the name, although it has some. */
function discardedNote(own: DmarcDiscovery): string | false {
  if (own.kind === "multiple") return "the name has several DMARC records, so receivers ignore all of them";
  return own.kind === "malformed" && `receivers ignore the record at the name: ${own.problem}`;
}

export function judgeTlsReport(record: ExpectedRecord, view: RecordView): ViewJudgment {
  const silent = unanswered(view.txt);
  if (silent) return silent;
  const texts = textsOf(view.txt).filter((text) => /^v=TLSRPTv1\s*;/.test(text));
  const [text] = texts;
  if (text === undefined) return missing();
  // RFC 8460 §3: with several records, senders send no reports.
  if (texts.length > 1)
    return mismatch(show(texts), "the name has several TLS reporting records, so senders ignore all of them; keep one");
  const merged = tlsReportMerge(text, record.value);
  if (merged === undefined) return found(showText(text));
  return {
    ...mismatch(showText(text), `its reports go elsewhere; add ${record.value.split("rua=")[1]} to its rua=`),
    mergedValue: merged,
  };
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
  const { keyType, publicKey, testing } = reading.record;
  // RFC 6376 §3.6.1: an empty p= revokes the key.
  if (publicKey === "") return mismatch(value, "the DKIM key is revoked (p= is empty)");
  if (keyType === "rsa" && record.publicKey !== undefined && samePublicKey(publicKey, record.publicKey))
    return found(value, testing ? testingNote : undefined);
  return mismatch(value, "the TXT record contains a different DKIM key");
}

/** RFC 6376 §3.6.1. Common receivers accept such signatures all the same. */
const testingNote = "t=y says that the key is only tested, and receivers may treat its mail as unsigned; remove t=y";

function misplacedNote(record: ExpectedRecord, at: string): string {
  const name = nameInZone(record);
  return at.startsWith(`${record.name}.`)
    ? `it was found at ${at}: your provider appends ${record.dnsZone} to the name, so enter the name without the domain: ${name}`
    : `it was found at ${at}: the zone is ${record.dnsZone}, so enter the name ${name}`;
}

function cnameNote(record: ExpectedRecord, cname: string): string {
  if (record.type === "TXT") return "the CNAME leads to no TXT record with this DKIM key";
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
