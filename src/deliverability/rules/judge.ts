/** Applies a rule to each row of the table of demands. check.ts calls it with the facts it has collected. Pure. */
import { judgeAlignment, judgeDkim, judgeDkimKey, judgeDmarc, judgeDmarcReports, judgeSpf } from "./authentication.ts";
import {
  judgeAccepted,
  judgeFromDomain,
  judgeHiddenContent,
  judgeOneClick,
  judgeReplyAddress,
  judgeReplyPrefix,
  judgeSpamFilter,
  judgeSpamRate,
  judgeUnsubscribeLink,
} from "./content.ts";
import { type CheckId, checkIds, type Demand, demands, type StatedDemand, statedBy, worstOf } from "./demands.ts";
import { type Facts, type Result, unknown, type Verdict } from "./facts.ts";
import {
  judgeDate,
  judgeFromAddress,
  judgeHeaderEncoding,
  judgeLineLength,
  judgeMessageId,
  judgeSingleFields,
  judgeSize,
  judgeTextPart,
} from "./format.ts";
import { judgeAddressLists, judgeDomainLists, judgeHelo, judgePtr, judgeTls } from "./sending-hosts.ts";

const rules: Record<CheckId, (facts: Facts) => Verdict> = {
  accepted: judgeAccepted,
  dkim: judgeDkim,
  "dkim-key": judgeDkimKey,
  spf: judgeSpf,
  alignment: judgeAlignment,
  dmarc: judgeDmarc,
  "dmarc-reports": judgeDmarcReports,
  "from-domain": judgeFromDomain,
  ptr: judgePtr,
  helo: judgeHelo,
  tls: judgeTls,
  "blocklist-address": judgeAddressLists,
  "blocklist-domain": judgeDomainLists,
  "one-click": judgeOneClick,
  "unsubscribe-link": judgeUnsubscribeLink,
  "single-fields": judgeSingleFields,
  "from-address": judgeFromAddress,
  date: judgeDate,
  "message-id": judgeMessageId,
  "line-length": judgeLineLength,
  "header-encoding": judgeHeaderEncoding,
  size: judgeSize,
  "text-part": judgeTextPart,
  "hidden-content": judgeHiddenContent,
  "reply-prefix": judgeReplyPrefix,
  "reply-address": judgeReplyAddress,
  "spam-rate": judgeSpamRate,
  "spam-filter": judgeSpamFilter,
};

export type Check = Verdict & { id: CheckId; title: string; demands: StatedDemand[] };

export function judge(facts: Facts): Check[] {
  return checkIds.map((id) => ({
    id,
    title: demands[id].title,
    demands: statedBy(id, facts.bulk),
    ...judgeOne(id, facts),
  }));
}

function judgeOne(id: CheckId, facts: Facts): Verdict {
  const demand: Demand = demands[id];
  const verdict = rules[id](facts);
  // What Posthorn's own sample passes says nothing about the caller's mail.
  if (facts.ownSample && demand.needsSample && verdict.result !== "not_needed")
    return unknown("Not checked: no sample email was given.", "Give a sample: the email that you want to send.");
  if (verdict.result === "fail" && worstOf(id, facts.bulk) === "warn") return { ...verdict, result: "warn" };
  return verdict;
}

/** The checks that the overall result and the summary are made of. */
export function counted(checks: readonly Check[]): Check[] {
  return checks.filter(({ id }) => !("isReminder" in demands[id]));
}

const order: readonly Result[] = ["fail", "warn", "unknown", "pass"];

export function overall(checks: readonly Pick<Check, "result">[]): Result {
  return order.find((result) => checks.some((check) => check.result === result)) ?? "unknown";
}

export function summarize(checks: readonly Pick<Check, "result">[], domain: string): string {
  const count = (result: Result) => checks.filter((check) => check.result === result).length;
  const [failed, warned, open] = [count("fail"), count("warn"), count("unknown")];
  const parts = [
    ...(failed > 0 ? [`${failed} ${failed === 1 ? "demand is" : "demands are"} not met`] : []),
    ...(warned > 0 ? [`${warned} ${warned === 1 ? "recommendation is" : "recommendations are"} not met`] : []),
    ...(open > 0 ? [`${open} could not be checked`] : []),
  ];
  if (parts.length === 0) return `${domain} meets every demand that was checked.`;
  return `${domain}: ${parts.join(", ")}.`;
}
