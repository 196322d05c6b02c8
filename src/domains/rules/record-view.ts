/** Collects all that one source of DNS returns for one expected record; judge.ts judges it. Called by check.ts. */
import { joinText, type Lookup, type LookupFunction } from "../../dns/record.ts";
import { authorizeSpf, type SpfVerdict } from "../../mail/spf-authorize.ts";
import { queriesOf } from "./check-plan.ts";
import type { ExpectedRecord } from "./records.ts";
import { mergeSpf } from "./spf-merge.ts";

/** The answers for one record. Fields that the record's purpose does not need are absent. */
export type RecordView = {
  cname?: Lookup<"CNAME">;
  txt?: Lookup<"TXT">;
  mx?: Lookup<"MX">;
  spf?: SpfVerdict;
  /** One SPF record that replaces those of the name. `problem`: why it would not work; then there is no value. */
  merged?: { value: string; problem: string };
  /** The DMARC record of the organizational domain above a sub-domain. */
  organization?: { name: string; txt: Lookup<"TXT"> };
};

/**
 * `lookup` queries the record's own name. `lookupOthers` queries SPF includes and the organization's DMARC record, which
 * the domain's own servers do not know.
 */
export async function viewRecord(
  record: ExpectedRecord,
  lookup: LookupFunction,
  lookupOthers: LookupFunction = lookup,
): Promise<RecordView> {
  const view: RecordView = {};
  await Promise.all(
    queriesOf(record).map(async ({ name, part }) => {
      if (part === "cname") view.cname = await lookup(name, "CNAME");
      else if (part === "mx") view.mx = await lookup(name, "MX");
      else if (part === "txt") view.txt = await lookup(name, "TXT");
      else view.organization = { name, txt: await lookupOthers(name, "TXT") };
    }),
  );
  if ((record.purpose === "SPF" || record.purpose === "MAIL_FROM_SPF") && view.txt?.kind === "found") {
    const texts = view.txt.records.map(joinText);
    const target = record.value.split(/[: ]/)[2] ?? "";
    const authorize = (values: readonly string[]) =>
      authorizeSpf({ texts: values, name: record.name, target, lookup: lookupOthers });
    view.spf = await authorize(texts);
    const merged = view.spf.kind === "authorized" ? undefined : mergeSpf(texts, `include:${target}`);
    if (merged !== undefined) view.merged = usable(merged, await authorize([merged]));
  }
  return view;
}

/** A merged record must stay within the limits of RFC 7208 §4.6.4. Without an answer from DNS it is offered: it is no worse than before. */
function usable(value: string, verdict: SpfVerdict): { value: string; problem: string } {
  if (verdict.kind === "authorized" || verdict.kind === "temperror") return { value, problem: "" };
  return { value: "", problem: verdict.problem === "" ? "an earlier term rejects its mail" : verdict.problem };
}
