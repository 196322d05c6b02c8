/** Collects all that one source of DNS returns for one expected record; judge.ts judges it. Called by check.ts. */
import { joinText, type Lookup, type LookupFunction } from "../../dns/record.ts";
import { discoverDmarc } from "../../mail/dmarc.ts";
import { authorizeSpf, type SpfVerdict } from "../../mail/spf-authorize.ts";
import { dmarcParents, queriesOf } from "./check-plan.ts";
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
  /** The `_dmarc` names of the parents of the domain, the nearest first. Absent if the domain has a DMARC record of its own. */
  parents?: { domain: string; txt: Lookup<"TXT"> }[];
};

/**
 * `lookup` queries the record's own name. `lookupOthers` queries SPF includes and the DMARC records of parents, which the
 * domain's own servers do not know.
 */
export async function viewRecord(
  record: ExpectedRecord,
  lookup: LookupFunction,
  lookupOthers: LookupFunction = lookup,
): Promise<RecordView> {
  const view: RecordView = {};
  const parents = record.purpose === "DMARC" ? lookUpParents(record.domain, lookupOthers) : undefined;
  // A DMARC record of the domain itself decides without them.
  parents?.catch(() => {});
  await Promise.all(
    queriesOf(record).map(async ({ name, part }) => {
      if (part === "cname") view.cname = await lookup(name, "CNAME");
      else if (part === "mx") view.mx = await lookup(name, "MX");
      else view.txt = await lookup(name, "TXT");
    }),
  );
  if (parents && !hasDmarc(view.txt)) view.parents = await parents;
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

async function lookUpParents(domain: string, lookup: LookupFunction): Promise<RecordView["parents"]> {
  return await Promise.all(
    dmarcParents(domain).map(async (parent) => ({ domain: parent, txt: await lookup(`_dmarc.${parent}`, "TXT") })),
  );
}

/** Parents that are slow to answer, such as a private top-level domain, must not delay the check of a domain with a record. */
function hasDmarc(txt: Lookup<"TXT"> | undefined): boolean {
  if (txt?.kind !== "found") return false;
  const { kind } = discoverDmarc(txt.records.map(joinText));
  return kind === "policy" || kind === "invalid";
}

/** A merged record must stay within the limits of RFC 7208 §4.6.4. Without an answer from DNS it is offered: it is no worse than before. */
function usable(value: string, verdict: SpfVerdict): { value: string; problem: string } {
  if (verdict.kind === "authorized" || verdict.kind === "temperror") return { value, problem: "" };
  return { value: "", problem: verdict.problem === "" ? "an earlier term rejects its mail" : verdict.problem };
}
