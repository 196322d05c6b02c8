/** Says in one sentence what happened to an email or to one of its recipients, and what to do about it. The page of an email opens with it. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Email, type EmailRecipient, RecipientStatus } from "../../../src/gen/v1/email_pb.ts";
import type { Event } from "../../../src/gen/v1/event_pb.ts";
import { SuppressionReason } from "../../../src/gen/v1/suppression_pb.ts";
import { timeText } from "../parts/date-text.ts";
import type { Tone } from "../parts/outcome.tsx";
import { formatDuration } from "../stats/scale.ts";
import { failureOf, reasonOf } from "./reasons.ts";

/** What is known about one recipient: from GetEmail, its events, and the suppression list. */
export type RecipientFacts = {
  address: string;
  status: RecipientStatus;
  complained: boolean;
  /** Category of the last delay, bounce or failure. Empty while unknown. */
  category: string;
  suppressionReason: SuppressionReason;
  /** True: an attempt was not confirmed, so the recipient may have the message, or have it twice. */
  inDoubt: boolean;
  attempts: number;
  remoteMx: string;
  nextAttemptAt: Date | undefined;
  scheduledAt: Date | undefined;
  expiresAt: Date | undefined;
  /** From the time that the email was due until the receiver accepted it. */
  tookMs: number | undefined;
  /** Whether the address is on the suppression list now. Undefined: not known. */
  isSuppressed: boolean | undefined;
};

export type Explanation = {
  tone: Tone;
  /** The outcome in one word, and the reason: "Bounced", "the mailbox … does not exist". */
  word: string;
  what: string;
  text: string;
};

export type Say = { tone: Tone; title: string; text: string };

export function factsOf(
  email: Email,
  recipient: EmailRecipient,
  events: readonly Event[],
  isSuppressed: boolean | undefined,
): RecipientFacts {
  const { address, status, attempts, remoteMx, nextAttemptAt, settledAt } = recipient;
  const facts: RecipientFacts = {
    address,
    status,
    complained: false,
    category: "",
    suppressionReason: SuppressionReason.UNSPECIFIED,
    inDoubt: false,
    attempts,
    remoteMx,
    nextAttemptAt: nextAttemptAt && timestampDate(nextAttemptAt),
    scheduledAt: email.scheduledAt && timestampDate(email.scheduledAt),
    expiresAt: email.expiresAt && timestampDate(email.expiresAt),
    tookMs: undefined,
    isSuppressed,
  };
  const dueAt = email.scheduledAt ?? email.createdAt;
  if (settledAt && dueAt) facts.tookMs = timestampDate(settledAt).getTime() - timestampDate(dueAt).getTime();
  for (const { payload } of events) {
    if (payload.case === "complained" && payload.value.feedbackType !== "not-spam") facts.complained = true;
    if (payload.case === "delayed" || payload.case === "bounced" || payload.case === "failed")
      facts.category = payload.value.category;
    if (payload.case === "suppressed") facts.suppressionReason = payload.value.reason;
    if (payload.value && "possibleDuplicate" in payload.value && payload.value.possibleDuplicate) facts.inDoubt = true;
  }
  return facts;
}

/** The sentence for the whole email: about its only recipient, or about the worst of several. */
export function explainEmail(all: readonly RecipientFacts[], { replied = false, now = new Date() } = {}): Say {
  const explained = all.map((facts) => explainRecipient(facts, now));
  const [first] = explained;
  if (!first) return { tone: "queued", title: "Accepted", text: "" };
  const reply = replied ? "A reply arrived." : "";
  if (explained.length === 1) return { tone: first.tone, title: titleOf(first), text: join(first.text, reply) };
  const worst = explained.reduce((a, b) => (rankOf(b) < rankOf(a) ? b : a));
  const same = explained.filter(({ word }) => word === worst.word);
  const others = countWords(explained.filter(({ word }) => word !== worst.word));
  const isGood = worst.tone === "delivered" || worst.tone === "sent";
  const share =
    same.length === all.length ? `all ${all.length} recipients` : `${same.length} of ${all.length} recipients`;
  const title = `${worst.word} ${isGood ? "to" : "for"} ${share}`;
  const isOneReason = same.every(({ what, text }) => what === worst.what && text === worst.text);
  if (isOneReason && (same.length === 1 || !isGood))
    return {
      tone: worst.tone,
      title: worst.what && !isGood ? `${title}: ${worst.what}` : title,
      text: join(worst.text, others, reply),
    };
  const how = rankOf(worst) <= ranks.indexOf("delayed") ? "Each recipient below has its own reason." : "";
  return { tone: worst.tone, title, text: join(how, others, reply) };
}

export function titleOf({ word, what }: Explanation): string {
  return what ? `${word}: ${what}` : word;
}

export function explainRecipient(facts: RecipientFacts, now = new Date()): Explanation {
  const { address, status } = facts;
  if (facts.complained) return complained(facts);
  switch (status) {
    case RecipientStatus.BOUNCED: {
      const { what, fix } = reasonOf(facts.category);
      const text = join(afterBounce(facts, fix), doubt(facts, "have a copy although it bounced"));
      return { tone: "bounced", word: "Bounced", what: what(address), text };
    }
    case RecipientStatus.FAILED: {
      const { what, fix } = failureOf(facts.category);
      const text = join("No receiver rejected it.", fix, doubt(facts, "have a copy"));
      return { tone: "failed", word: "Failed", what: what(address), text };
    }
    case RecipientStatus.SUPPRESSED:
      return suppressed(facts);
    case RecipientStatus.DELAYED:
      return delayed(facts);
    case RecipientStatus.CANCELED:
      return {
        tone: "canceled",
        word: "Canceled",
        what: "it was not sent",
        text: "Resend the email if it is needed after all.",
      };
    case RecipientStatus.SENT:
      return {
        tone: "sent",
        word: "Sent",
        what: `the relay${facts.remoteMx ? ` ${facts.remoteMx}` : ""} accepted it`,
        text: join(
          "The relay does not report delivery. A later bounce appears here.",
          doubt(facts, "have received it twice"),
        ),
      };
    case RecipientStatus.DELIVERED:
      return delivered(facts);
    case RecipientStatus.PROCESSING:
      return { tone: "queued", word: "Sending", what: "an attempt is in progress", text: "" };
    default:
      return waiting(facts, now);
  }
}

function afterBounce({ category, isSuppressed }: RecipientFacts, fix: string): string {
  if (!isSuppressed) return fix;
  // Only these bounces suppress an address. After others, it is on the list for another reason.
  if (category !== "unknown_mailbox" && category !== "mailbox_disabled")
    return join(fix, "The address is also suppressed: remove the suppression first.");
  return "The receiver rejected it permanently. The address is now suppressed, so later emails to it are not attempted. Remove the suppression if the person says that the address works.";
}

function complained({ address, isSuppressed }: RecipientFacts): Explanation {
  const state = isSuppressed ? "The address is now suppressed, so later emails to it are not attempted." : "";
  return {
    tone: "complained",
    word: "Complained",
    what: `${address} reported it as spam`,
    text: join(state, "Receivers block senders with many complaints: send only to people who expect your email."),
  };
}

function delayed(facts: RecipientFacts): Explanation {
  const { what, whatNow, wait } = reasonOf(facts.category);
  const next = facts.nextAttemptAt ? `Next attempt: ${timeText(facts.nextAttemptAt)}.` : "";
  const last = facts.expiresAt ? `Posthorn retries until ${timeText(facts.expiresAt)}.` : "Posthorn retries.";
  if (facts.inDoubt)
    return {
      tone: "delayed",
      word: "Delayed",
      what: "the receiver did not confirm an attempt",
      text: join(next, last, "The receiver may already have the message, so the recipient may get it twice."),
    };
  return {
    tone: "delayed",
    word: "Delayed",
    what: (whatNow ?? what)(facts.address),
    text: join(next, last, wait ?? "There is nothing to do."),
  };
}

function suppressed({ address, suppressionReason, isSuppressed }: RecipientFacts): Explanation {
  // Not on the suppression list, so whether the address is on it now says nothing.
  if (suppressionReason === SuppressionReason.UNSUBSCRIBED)
    return {
      tone: "suppressed",
      word: "Suppressed",
      what: `${address} has unsubscribed from the topic of this email`,
      text: "It was not attempted. There is nothing to do: emails without a topic still reach the person.",
    };
  const [what, fix] = suppressions[suppressionReason]?.(address) ?? [
    `${address} is on the suppression list`,
    "Remove the suppression if the person wants your email, then resend it.",
  ];
  const todo =
    isSuppressed === false ? "The address is no longer suppressed: resend the email to reach the person." : fix;
  return { tone: "suppressed", word: "Suppressed", what, text: join("It was not attempted.", todo) };
}

const suppressions: Partial<Record<SuppressionReason, (address: string) => [what: string, fix: string]>> = {
  [SuppressionReason.BOUNCE]: (address) => [
    `an earlier email to ${address} bounced`,
    "Remove the suppression if the person says that the address works, then resend the email.",
  ],
  [SuppressionReason.COMPLAINT]: (address) => [
    `${address} reported an earlier email as spam`,
    "Remove the suppression only if the person asks for your email again.",
  ],
  [SuppressionReason.MANUAL]: (address) => [
    `${address} was added to the suppression list`,
    "Remove the suppression if the person wants your email, then resend it.",
  ],
  [SuppressionReason.IMPORT]: (address) => [
    `${address} is on an imported suppression list`,
    "Remove the suppression if the person wants your email, then resend it.",
  ],
};

function delivered(facts: RecipientFacts): Explanation {
  const { address, remoteMx, tookMs, attempts } = facts;
  const took = tookMs === undefined || tookMs < 0 ? "" : `It took ${formatDuration(tookMs)}`;
  const tries = attempts > 1 ? ` and ${attempts} attempts` : "";
  return {
    tone: "delivered",
    word: "Delivered",
    what: `${remoteMx || "the receiving server"} accepted it for ${address}`,
    text: join(took && `${took}${tries}.`, doubt(facts, "have received it twice")),
  };
}

function waiting({ scheduledAt, attempts }: RecipientFacts, now: Date): Explanation {
  if (scheduledAt && scheduledAt > now && attempts === 0)
    return {
      tone: "queued",
      word: "Scheduled",
      what: `it is sent at ${timeText(scheduledAt)}`,
      text: "You can reschedule or cancel it until then.",
    };
  return {
    tone: "queued",
    word: "Queued",
    what: "it waits for its first attempt",
    text: "This usually takes seconds. There is nothing to do.",
  };
}

function doubt({ inDoubt }: RecipientFacts, may: string): string {
  return inDoubt ? `The receiver did not confirm an attempt: the recipient may ${may}.` : "";
}

/** The order in which tones decide about the whole email, as EmailOutcome does. */
const ranks: readonly Tone[] = [
  ...(["complained", "bounced", "failed", "suppressed", "delayed", "queued"] as const),
  ...(["canceled", "sent", "delivered"] as const),
];

export function rankOf({ tone }: Pick<Explanation, "tone">): number {
  return ranks.indexOf(tone);
}

/** "3 delivered, 1 delayed." */
function countWords(explained: readonly Explanation[]): string {
  const counts = new Map<string, number>();
  for (const { word } of explained) counts.set(word, (counts.get(word) ?? 0) + 1);
  const parts = [...counts].map(([word, count]) => `${count} ${word.toLowerCase()}`);
  return parts.length === 0 ? "" : `Others: ${parts.join(", ")}.`;
}

function join(...sentences: string[]): string {
  return sentences.filter((one) => one !== "").join(" ");
}
