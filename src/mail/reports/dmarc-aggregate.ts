/** Reads a DMARC aggregate report: the XML of RFC 9990 and the older form of RFC 7489 without a namespace. Sums are built while the text is
 * parsed, so the memory depends on the number of addresses, not on the size. Document types and entities are refused. Called by read.ts. */
import { SaxesParser } from "saxes";
import { ReportProblem } from "./refusal.ts";
import { countOf, domainName, ipAddress, isAtOrBelow, requireSum, shortText } from "./values.ts";

export type DmarcCounts = {
  messages: number;
  aligned: number;
  dkimAligned: number;
  spfAligned: number;
  delivered: number;
  quarantined: number;
  rejected: number;
};

/** All messages of one address with one domain in From. An empty `ip`: addresses past the limit. */
export type DmarcRow = {
  ip: string;
  headerFrom: string;
  counts: DmarcCounts;
  dkimDomains: string[];
  spfDomains: string[];
  overrides: string[];
};

export type DmarcReport = {
  kind: "dmarc";
  organization: string;
  reportId: string;
  beginMs: number;
  endMs: number;
  /** The domain whose policy the receiver applied. */
  domain: string;
  rows: DmarcRow[];
};

export const maxOrganization = 100;
export const maxReportId = 255;
/** More addresses are counted together while the text is parsed. */
const maxRows = 20_000;
/** Of them, the largest are returned: all work on them is on the event loop. A reporter can store 1,000 new ones on a day. */
const maxReturned = 2000;
export const maxValues = 10;
const maxDepth = 20;
/** Longer than any value of the format except comments, which are not read. */
const maxText = 1000;
const sliceChars = 64 * 1024;

/** RFC 9990 §3.1.1.15 and, for the last one, RFC 7489 Appendix C. */
const overrideTypes = [
  "local_policy",
  "mailing_list",
  "policy_test_mode",
  "trusted_forwarder",
  "other",
  "forwarded",
  "sampled_out",
];

export function readDmarcReport(xml: Buffer): DmarcReport {
  const builder = createBuilder();
  const path: string[] = [];
  let text = "";
  const parser = new SaxesParser();
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("doctype", () => {
    throw new ReportProblem("invalid", "the XML has a document type, which reports must not have");
  });
  parser.on("opentag", ({ name }) => {
    path.push(name.slice(name.indexOf(":") + 1));
    text = "";
    if (path.length > maxDepth) throw new ReportProblem("invalid", "the XML is nested too deeply");
    if (path[0] !== "feedback") throw new ReportProblem("invalid", "the XML is not a DMARC report");
    builder.open(path);
  });
  const addText = (more: string) => {
    if (text.length <= maxText) text += more.slice(0, maxText + 1);
  };
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("closetag", () => {
    builder.close(path, text.trim());
    text = "";
    path.pop();
  });
  try {
    const decoded = decode(xml);
    for (let at = 0; at < decoded.length; at += sliceChars) parser.write(decoded.slice(at, at + sliceChars));
    parser.close();
  } catch (error) {
    if (error instanceof ReportProblem) throw error;
    throw new ReportProblem("unreadable", "the XML is not well-formed");
  }
  return builder.finish();
}

/** RFC 9990 §3.1.3 asks for UTF-8. Older writers declare other encodings. */
function decode(xml: Buffer): string {
  const utf16 = xml[0] === 0xff && xml[1] === 0xfe ? "utf-16le" : xml[0] === 0xfe && xml[1] === 0xff ? "utf-16be" : "";
  const declared = /^[^>]{0,100}encoding\s*=\s*["']([\w-]{1,20})["']/.exec(xml.toString("latin1", 0, 200))?.[1];
  const encoding = utf16 || (declared ?? "utf-8").toLowerCase();
  const isKnown = utf16 !== "" || /^(utf-?8|us-ascii|iso-8859-1|windows-1252)$/.test(encoding);
  if (!isKnown) throw new ReportProblem("invalid", "the XML has an encoding other than UTF-8");
  return new TextDecoder(encoding).decode(xml);
}

type Row = DmarcRow & { dkim: string; spf: string; disposition: string; count: string; isRow: boolean };

function createBuilder() {
  const head = { organization: "", reportId: "", begin: "", end: "", domain: "" };
  const rows = new Map<string, DmarcRow>();
  const seen = new Set<string>();
  let row: Row | undefined;
  /** The parts of an entry in auth_results. */
  let checked = { domain: "", result: "" };

  function add({ count, dkim, spf, disposition, ...read }: Row): void {
    if (!read.isRow) throw new ReportProblem("invalid", "a record has no row");
    const messages = countOf(count, "count of a record");
    if (read.ip === "") throw new ReportProblem("invalid", "the source_ip of a record is not an IP address");
    const isAligned = dkim === "pass" || spf === "pass";
    const when = (holds: boolean) => (holds ? messages : 0);
    const counts: DmarcCounts = {
      messages,
      aligned: when(isAligned),
      dkimAligned: when(dkim === "pass"),
      spfAligned: when(spf === "pass"),
      // RFC 9990 §3.1.1.9: "none", and "pass" for mail that passed.
      delivered: when(disposition !== "quarantine" && disposition !== "reject"),
      quarantined: when(disposition === "quarantine"),
      rejected: when(disposition === "reject"),
    };
    const { headerFrom, dkimDomains, spfDomains, overrides } = read;
    const key = `${read.ip} ${headerFrom}`;
    const ip = rows.has(key) || rows.size < maxRows ? read.ip : "";
    merge(rows, { ip, headerFrom: ip === "" ? "" : headerFrom, counts, dkimDomains, spfDomains, overrides });
  }

  return {
    open(path: readonly string[]): void {
      const name = path.at(-1)!;
      if (path.length === 2 && name === "record") row = emptyRow();
      if (path.length === 3 && name === "row" && row) row.isRow = true;
      if (path.length === 4 && path[2] === "auth_results") checked = { domain: "", result: "" };
      // Blocks that must not repeat: two of them would leave open which one counts.
      if (path.length === 2 && (name === "report_metadata" || name === "policy_published")) {
        if (seen.has(name)) throw new ReportProblem("invalid", `the XML has two ${name} elements`);
        seen.add(name);
      }
    },
    close(path: readonly string[], text: string): void {
      const at = path.slice(1).join("/");
      if (at === "report_metadata/org_name") head.organization = shortText(text, maxOrganization);
      else if (at === "report_metadata/report_id") head.reportId = shortText(text, maxReportId);
      else if (at === "report_metadata/date_range/begin") head.begin = text;
      else if (at === "report_metadata/date_range/end") head.end = text;
      else if (at === "policy_published/domain") head.domain = domainName(text) ?? "";
      else if (!row) return;
      else if (at === "record/row/source_ip") row.ip = ipAddress(text) ?? "";
      else if (at === "record/row/count") row.count = text;
      else if (at === "record/row/policy_evaluated/disposition") row.disposition = text.toLowerCase();
      else if (at === "record/row/policy_evaluated/dkim") row.dkim = text.toLowerCase();
      else if (at === "record/row/policy_evaluated/spf") row.spf = text.toLowerCase();
      else if (at === "record/row/policy_evaluated/reason/type")
        addValue(row.overrides, overrideTypes.includes(text) ? text : "other");
      else if (at === "record/identifiers/header_from") row.headerFrom = domainName(text) ?? "";
      else if (/^record\/auth_results\/\w+\/domain$/.test(at)) checked.domain = domainName(text) ?? "";
      else if (at === "record/auth_results/dkim") addValue(row.dkimDomains, checked.domain);
      else if (at === "record/auth_results/spf") addValue(row.spfDomains, checked.domain);
      else if (at === "record") {
        add(row);
        row = undefined;
      }
    },
    finish(): DmarcReport {
      const { organization, reportId, domain } = head;
      if (domain === "") throw new ReportProblem("invalid", "the report names no domain in policy_published");
      if (reportId === "") throw new ReportProblem("invalid", "the report has no report_id");
      // A policy covers the domain and its subdomains; other names in From are a mistake of the writer.
      const own = [...rows.values()].filter(({ ip, headerFrom }) => ip === "" || isAtOrBelow(headerFrom, domain));
      if (rows.size > 0 && own.length === 0)
        throw new ReportProblem("invalid", "no record of the report is about the domain of its policy");
      requireSum(
        own.map(({ counts }) => counts.messages),
        "messages",
      );
      return {
        kind: "dmarc",
        organization,
        reportId,
        beginMs: secondsOf(head.begin),
        endMs: secondsOf(head.end),
        domain,
        rows: largestOf(own),
      };
    },
  };
}

function emptyRow(): Row {
  const counts = { messages: 0, aligned: 0, dkimAligned: 0, spfAligned: 0, delivered: 0, quarantined: 0, rejected: 0 };
  const lists = { dkimDomains: [], spfDomains: [], overrides: [] };
  return { ip: "", headerFrom: "", counts, ...lists, dkim: "", spf: "", disposition: "", count: "", isRow: false };
}

/** The others lose their address. */
function largestOf(all: DmarcRow[]): DmarcRow[] {
  const rows = new Map<string, DmarcRow>();
  const lists = { dkimDomains: [], spfDomains: [], overrides: [] };
  for (const [index, row] of all.toSorted((a, b) => b.counts.messages - a.counts.messages).entries())
    merge(rows, index < maxReturned ? row : { ip: "", headerFrom: "", counts: { ...row.counts }, ...lists });
  return [...rows.values()];
}

function secondsOf(text: string): number {
  if (!/^\d{1,11}$/.test(text)) throw new ReportProblem("invalid", "the date_range of the report is not in seconds");
  return Number(text) * 1000;
}

function addValue(values: string[], value: string): void {
  if (value !== "" && values.length < maxValues && !values.includes(value)) values.push(value);
}

/** Adds the row to the one with the same address and domain. */
export function merge(rows: Map<string, DmarcRow>, row: DmarcRow): void {
  const key = `${row.ip} ${row.headerFrom}`;
  const known = rows.get(key);
  if (!known) return void rows.set(key, row);
  for (const name of Object.keys(row.counts) as (keyof DmarcCounts)[]) known.counts[name] += row.counts[name];
  for (const list of ["dkimDomains", "spfDomains", "overrides"] as const)
    for (const value of row[list]) addValue(known[list], value);
}
