/** Collects all that one source of DNS returns for one expected record; judge.ts judges it. Called by check.ts. */
import { joinText, type Lookup, type LookupFunction } from "../../dns/record.ts";
import { authorizeSpf, type SpfVerdict } from "../../mail/spf-authorize.ts";
import { queriesOf } from "./check-plan.ts";
import type { ExpectedRecord } from "./records.ts";

/** The answers for one record. Fields that the record's purpose does not need are absent. */
export type RecordView = {
  cname?: Lookup<"CNAME">;
  txt?: Lookup<"TXT">;
  mx?: Lookup<"MX">;
  spf?: SpfVerdict;
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
    view.spf = await authorizeSpf({
      texts: view.txt.records.map(joinText),
      name: record.name,
      target: record.value.split(/[: ]/)[2] ?? "",
      lookup: lookupOthers,
    });
  }
  return view;
}
