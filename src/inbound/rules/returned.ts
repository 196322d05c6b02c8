/** Judges a delivery report about one recipient: whether it bounced, why, and whether to suppress it. Called by ../reports.ts. */

import { classify, expire, type Outcome } from "../../delivery/rules/outcome.ts";
import type { BouncedRecipient } from "../../mail/report/fields.ts";
import type { Reply } from "../../smtp/client/evidence.ts";

export type Returned = { outcome: Outcome; remoteMta: string };

/**
 * The return path names the recipient. The addresses in the report only choose among its entries: they can be forged, and they differ from
 * ours when the recipient forwards its mail. Undefined: the recipient has not failed.
 */
export function judgeReturned(address: string, report: readonly BouncedRecipient[]): Returned | undefined {
  const own = report.filter(({ addresses }) => addresses.some((theirs) => sameMailbox(address, theirs)));
  const failure = (own.length > 0 ? own : report).find(({ action }) => action === "failed");
  return failure && { outcome: outcomeOf(failure), remoteMta: failure.remoteMta };
}

/** Some servers change the case of addresses in reports, and by RFC 5321 §2.4 a sender must not rely on case. */
function sameMailbox(ours: string, theirs: string): boolean {
  return ours.toLowerCase() === theirs.trim().toLowerCase();
}

function outcomeOf(entry: BouncedRecipient): Outcome {
  const outcome = classify({ kind: "refused", phase: "rcpt", reply: replyOf(entry) }, { relay: false });
  // The reporting server has stopped retrying, so a temporary failure is final.
  return outcome.kind === "deferred" ? expire(outcome) : outcome;
}

/** The entry as an SMTP reply, so that the rules for outcomes apply. */
function replyOf({ diagnostic, status }: BouncedRecipient): Reply {
  const code = /(?:^|[^\d.])([45]\d\d)(?=[\s-]|$)/.exec(diagnostic)?.[1];
  const codeInText = /\b([45]\.\d{1,3}\.\d{1,3})\b/.exec(diagnostic)?.[1];
  // A status such as 5.0.0 is less precise than the text.
  const vague = status === "" || /^[45]\.0\.0$/.test(status);
  const enhanced = vague ? (codeInText ?? (status || null)) : status;
  const text = diagnostic || (status === "" ? "returned without a reason" : `returned with the status ${status}`);
  return {
    code: code ? Number(code) : enhanced?.startsWith("4") ? 450 : 550,
    enhanced,
    text,
    line: text,
  };
}
