/** Asks the spam filter that the operator has set up for its score of the sample, within a time limit. Called by check.ts. */
import { askRspamd, type RspamdEnvelope } from "./rspamd.ts";
import type { Answer, SpamFacts } from "./rules/facts.ts";
import { askSpamd } from "./spamd.ts";

/** From POSTHORN_SPAM_CHECK. */
export type SpamFilterSetting =
  | { kind: "rspamd"; url: string }
  | { kind: "spamd"; host: string; port: number }
  | undefined;

const timeoutMs = 6_000;
/** Filters skip larger messages by default. */
const maxMessageBytes = 1024 * 1024;
const maxRules = 50;
const maxName = 80;
const maxDescription = 200;

export async function askSpamFilter(
  setting: SpamFilterSetting,
  { message, envelope, signal }: { message: Buffer; envelope: RspamdEnvelope; signal: AbortSignal },
): Promise<Answer<SpamFacts | undefined>> {
  if (!setting) return undefined;
  const name = setting.kind === "rspamd" ? "rspamd" : "SpamAssassin";
  if (message.length > maxMessageBytes) return { unanswered: `${name} was not asked: the message is larger than 1 MB` };
  const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const facts =
      setting.kind === "rspamd"
        ? await askRspamd(setting.url, { message, envelope, signal: within })
        : await askSpamd(setting, message, within);
    return { ...facts, rules: shown(facts.rules) };
  } catch {
    // The error may name an address of the operator's network, and the caller may be any tenant.
    return { unanswered: `${name} did not give a score` };
  }
}

function shown(rules: SpamFacts["rules"]): SpamFacts["rules"] {
  return rules
    .toSorted((a, b) => b.score - a.score)
    .slice(0, maxRules)
    .map(({ name, score, description }) => ({
      name: cut(name, maxName),
      score,
      description: cut(description, maxDescription),
    }));
}

function cut(text: string, limit: number): string {
  return text.slice(0, limit).toWellFormed();
}
