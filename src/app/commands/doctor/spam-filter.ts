/** The check of POSTHORN_SPAM_CHECK in posthorn doctor: whether the spam filter gives a score. */
import { isUnanswered } from "../../../deliverability/rules/facts.ts";
import { askSpamFilter } from "../../../deliverability/spam-filter.ts";
import type { Config } from "../../config.ts";
import type { Finding } from "./finding.ts";

const check = "filter";
const message = Buffer.from("From: check@example.com\r\nTo: check@example.com\r\nSubject: Check\r\n\r\nCheck\r\n");

export async function spamFilterCheck({ spamFilter, hostname }: Config): Promise<Finding[]> {
  if (!spamFilter) return [];
  const at = spamFilter.kind === "rspamd" ? spamFilter.url : `${spamFilter.host}:${spamFilter.port}`;
  const envelope = { from: "check@example.com", recipient: "check@example.com", address: undefined, helo: hostname };
  const score = await askSpamFilter(spamFilter, { message, envelope, signal: AbortSignal.timeout(10_000) });
  if (score && !isUnanswered(score))
    return [{ check, result: "ok", found: `${score.filter} at ${at} scores deliverability samples` }];
  return [
    {
      check,
      result: "warn",
      found: `${spamFilter.kind} at ${at} does not give a score`,
      fix: "Start it, or correct POSTHORN_SPAM_CHECK. Deliverability checks work without it.",
    },
  ];
}
