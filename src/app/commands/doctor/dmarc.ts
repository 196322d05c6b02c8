/** The check of DMARC policies in posthorn doctor. It reads the results of the last domain checks. */
import { type DmarcState, readDmarcState } from "../../../domains/store/dmarc-state.ts";
import type { Config } from "../../config.ts";
import { withStore } from "../with-store.ts";
import type { Finding } from "./finding.ts";

export async function dmarcChecks(config: Config): Promise<Finding[]> {
  return [dmarcFinding(await withStore(config, ({ sql }) => readDmarcState(sql)))];
}

export function dmarcFinding({ sending, without, example }: DmarcState): Finding {
  const check = "DMARC";
  const domains = sending === 1 ? "1 sending domain" : `${sending} sending domains`;
  if (sending === 0) return { check, result: "ok", found: "no domain can send yet" };
  if (without === 0)
    return { check, result: "ok", found: `every sending domain has a valid policy by RFC 9989 (${sending})` };
  return {
    check,
    result: "warn",
    found: `${without} of ${domains} ${without === 1 ? "has" : "have"} no valid DMARC policy, such as ${example}`,
    fix: "Gmail, Yahoo and Microsoft refuse bulk mail without one. posthorn domains records DOMAIN names the record to publish.",
  };
}
