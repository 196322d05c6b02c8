/** One judge for each purpose of a record: found when the purpose is met, not when strings are equal. */
import { parseDkimRecord, samePublicKey } from "../mail/dkim-record.ts";
import { discoverDmarc } from "../mail/dmarc.ts";
import { canonicalName, joinText, type Lookup, sameName, showText } from "../mail/dns-record.ts";
import { isSpf } from "../mail/spf.ts";
import type { AskedRecord } from "./dns-records.ts";
import type { RecordView } from "./record-view.ts";

/** `unknown`: DNS told nothing. The note is a clause that a sentence can end with. */
export type Opinion = { status: "found" | "mismatch" | "missing" | "unknown"; discoveredValue: string; note: string };

export function judgeDkim(record: AskedRecord, view: RecordView): Opinion {
  const cname = view.cname?.kind === "found" ? canonicalName(view.cname.records[0]?.target ?? "") : undefined;
  if (cname !== undefined && sameName(cname, record.value)) return found(cname);

  const texts = textsOf(view.txt);
  const key = texts.length === 1 ? judgeKey(record, texts[0] ?? "") : undefined;
  if (key?.status === "found") return key;
  if (cname !== undefined) return mismatch(cname, cnameNote(record, cname));
  if (key !== undefined) return key;
  if (texts.length > 1) return mismatch(show(texts), "the name holds several TXT records, a DKIM key must be alone");
  return unanswered(view.cname) ?? unanswered(view.txt) ?? missing();
}

export function judgeSpf(record: AskedRecord, view: RecordView): Opinion {
  const silent = unanswered(view.txt);
  if (silent) return silent;
  const texts = textsOf(view.txt);
  const include = record.value.split(" ")[1] ?? "";
  const verdict = view.spf;
  if (verdict === undefined || verdict.kind === "none") {
    const near = texts.filter((text) => /^["'\s]*v?\s*=?\s*spf/i.test(text));
    if (near.length > 0) return mismatch(show(near), nearMissNote(near[0] ?? ""));
    return missing();
  }
  const value = show(verdict.texts);
  switch (verdict.kind) {
    case "authorised":
      return found(value, verdict.problem);
    case "temperror":
      return { status: "unknown", discoveredValue: value, note: verdict.problem };
    case "multiple":
      return mismatch(value, `${record.name} has ${verdict.texts.length} SPF records; merge them into one`);
    case "permerror":
      return mismatch(value, `the SPF record is broken: ${verdict.problem}`);
    case "not_authorised":
      return mismatch(value, `the SPF record does not authorise this service; add ${include} to it`);
  }
}

export function judgeDmarc(view: RecordView): Opinion {
  const silent = unanswered(view.txt);
  if (silent) return silent;
  const texts = textsOf(view.txt);
  const own = discoverDmarc(texts);
  switch (own.kind) {
    case "policy":
      return found(showText(own.text), own.record.warnings.map((tag) => `receivers ignore its ${tag}= tag`).join(", "));
    case "multiple":
      return mismatch(show(own.texts), "the name has several DMARC records, which receivers ignore; keep one");
    case "invalid":
      return mismatch(showText(own.text), `the DMARC record is broken: ${own.problem}`);
    case "none":
      break;
  }
  // RFC 7489 §6.6.3: what is not a DMARC record is discarded, and the organisation's policy covers the sub-domain.
  if (view.organisation !== undefined) {
    const { name, txt } = view.organisation;
    const organisation = discoverDmarc(textsOf(txt));
    if (organisation.kind === "policy") return found(showText(organisation.text), `covered by the policy at ${name}`);
    const unsure = unanswered(txt);
    if (unsure && texts.length === 0) return unsure;
  }
  return texts.length > 0 ? mismatch(show(texts), "what the name holds does not start with v=DMARC1;") : missing();
}

export function judgeMx(record: AskedRecord, view: RecordView): Opinion {
  const silent = unanswered(view.mx);
  if (silent) return silent;
  if (view.mx?.kind !== "found") return missing();
  const records = view.mx.records.toSorted((a, b) => a.priority - b.priority || (a.exchange < b.exchange ? -1 : 1));
  const value = showText(records.map((mx) => `${mx.priority} ${canonicalName(mx.exchange) || "."}`).join(", "));
  const lowest = records[0]?.priority;
  const ours = records.find((mx) => sameName(mx.exchange, record.value));
  if (ours !== undefined && ours.priority === lowest) return found(value);
  if (ours !== undefined)
    return mismatch(value, `another host comes before ${record.value}; give it the lowest number`);
  const appended = records.find((mx) => isAppended(record, mx.exchange));
  if (appended) return mismatch(value, trailingDotNote(record));
  // RFC 7505 §3: a single dot says that the name takes no mail at all.
  if (records.length === 1 && canonicalName(records[0]?.exchange ?? "") === "") {
    return mismatch(value, "the name refuses all mail (a null MX); replace it");
  }
  return mismatch(value, `mail for ${record.name} goes elsewhere`);
}

function judgeKey(record: AskedRecord, text: string): Opinion {
  const value = showText(text);
  const reading = parseDkimRecord(text);
  if (!reading.ok) return mismatch(value, `the name holds a TXT that is no DKIM key: ${reading.problem}`);
  const { keyType, publicKey } = reading.record;
  // RFC 6376 §3.6.1: an empty p= withdraws the key.
  if (publicKey === "") return mismatch(value, "the DKIM key is revoked (p= is empty)");
  if (keyType === "rsa" && record.publicKey !== undefined && samePublicKey(publicKey, record.publicKey))
    return found(value);
  return mismatch(value, "the DKIM key is another one");
}

function cnameNote(record: AskedRecord, cname: string): string {
  return isAppended(record, cname)
    ? trailingDotNote(record)
    : `the CNAME leads elsewhere; it must lead to ${record.value}`;
}

function isAppended(record: AskedRecord, target: string): boolean {
  return canonicalName(target).startsWith(`${canonicalName(record.value)}.`);
}

function trailingDotNote(record: AskedRecord): string {
  return `your provider added its own domain to the value; end it with a dot: ${record.value}.`;
}

function nearMissNote(text: string): string {
  if (/^\s*["']/.test(text)) return "the quotation marks are part of the value; enter it without them";
  return isSpf(text.trim()) ? "the value starts with white space" : "the value must start with v=spf1 and a space";
}

function textsOf(lookup: Lookup<"TXT"> | undefined): string[] {
  return lookup?.kind === "found" ? lookup.records.map(joinText) : [];
}

function unanswered(lookup: Lookup | undefined): Opinion | undefined {
  if (lookup?.kind === "nxdomain" || lookup?.kind === "nodata" || lookup?.kind === "found") return undefined;
  const why = lookup?.kind === "servfail" ? `failed (${lookup.reason})` : "did not answer in time";
  return { status: "unknown", discoveredValue: "", note: `DNS ${why}` };
}

function show(texts: readonly string[]): string {
  return showText(texts.join(" | "));
}

function found(discoveredValue: string, note = ""): Opinion {
  return { status: "found", discoveredValue, note };
}

function mismatch(discoveredValue: string, note: string): Opinion {
  return { status: "mismatch", discoveredValue, note };
}

function missing(): Opinion {
  return { status: "missing", discoveredValue: "", note: "nothing is published there yet" };
}
