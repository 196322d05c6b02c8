/** Collects, through any look-up, all that one source of DNS says about one asked record; `record-judge.ts` judges it. */
import { joinText, type Lookup, type LookupFunction } from "../mail/dns-record.ts";
import { authoriseSpf, type SpfVerdict } from "../mail/spf-authorise.ts";
import { questionsOf } from "./check-plan.ts";
import type { AskedRecord } from "./dns-records.ts";

/** Parts that the record's purpose does not need are absent. */
export type RecordView = {
  cname?: Lookup<"CNAME">;
  txt?: Lookup<"TXT">;
  mx?: Lookup<"MX">;
  spf?: SpfVerdict;
  /** The DMARC record of the organisation above a sub-domain. */
  organisation?: { name: string; txt: Lookup<"TXT"> };
};

/**
 * `lookup` answers for the names of the record itself, `lookupOthers` for what SPF includes:
 * a domain's own servers know nothing about the includes of others.
 */
export async function viewRecord(
  record: AskedRecord,
  lookup: LookupFunction,
  lookupOthers: LookupFunction = lookup,
): Promise<RecordView> {
  const view: RecordView = {};
  await Promise.all(
    questionsOf(record).map(async ({ name, part }) => {
      if (part === "cname") view.cname = await lookup(name, "CNAME");
      else if (part === "mx") view.mx = await lookup(name, "MX");
      else if (part === "txt") view.txt = await lookup(name, "TXT");
      else view.organisation = { name, txt: await lookupOthers(name, "TXT") };
    }),
  );
  if ((record.purpose === "SPF" || record.purpose === "MAIL_FROM_SPF") && view.txt?.kind === "found") {
    view.spf = await authoriseSpf({
      texts: view.txt.records.map(joinText),
      name: record.name,
      target: record.value.split(/[: ]/)[2] ?? "",
      lookup: lookupOthers,
    });
  }
  return view;
}
