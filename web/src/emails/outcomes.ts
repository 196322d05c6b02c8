/** The outcomes of emails: their words, tones, names in the URL, and what each means for the person who reads it. */
import { EmailOutcome, EmailStatus } from "../../../src/gen/v1/email_pb.ts";
import { enumName } from "../parts/enum-name.ts";
import type { Tone } from "../parts/outcome.tsx";

export type OutcomeLabel = { text: string; tone: Tone; meaning: string };

const labels: Partial<Record<EmailOutcome, OutcomeLabel>> = {
  [EmailOutcome.COMPLAINED]: { text: "Complained", tone: "complained", meaning: "A recipient reported it as spam." },
  [EmailOutcome.BOUNCED]: { text: "Bounced", tone: "bounced", meaning: "A receiver rejected it for good." },
  [EmailOutcome.FAILED]: { text: "Failed", tone: "failed", meaning: "It could not be sent; no receiver rejected it." },
  [EmailOutcome.SUPPRESSED]: {
    text: "Suppressed",
    tone: "suppressed",
    meaning: "Not sent: the address is suppressed.",
  },
  [EmailOutcome.DELAYED]: {
    text: "Delayed",
    tone: "delayed",
    meaning: "A receiver refused it for now; Posthorn retries.",
  },
  [EmailOutcome.QUEUED]: { text: "Queued", tone: "queued", meaning: "Waiting for its time or for its first attempt." },
  [EmailOutcome.CANCELED]: { text: "Canceled", tone: "canceled", meaning: "Canceled before it was sent." },
  [EmailOutcome.SENT]: { text: "Sent", tone: "sent", meaning: "Handed to the relay." },
  [EmailOutcome.DELIVERED]: { text: "Delivered", tone: "delivered", meaning: "Accepted by the receiving servers." },
};

/** In the order of the filters: the usual one first, then what needs attention. */
export const outcomes = [
  EmailOutcome.DELIVERED,
  EmailOutcome.DELAYED,
  EmailOutcome.BOUNCED,
  EmailOutcome.COMPLAINED,
  EmailOutcome.SUPPRESSED,
  EmailOutcome.FAILED,
  EmailOutcome.QUEUED,
  EmailOutcome.CANCELED,
  EmailOutcome.SENT,
] as const;

export function outcomeLabel(outcome: EmailOutcome): OutcomeLabel {
  return labels[outcome] ?? { text: `Outcome ${outcome}`, tone: "queued", meaning: "" };
}

/** The name in the page's URL: `?outcome=bounced`. */
export function outcomeName(outcome: EmailOutcome): string {
  return enumName(EmailOutcome, outcome);
}

export function outcomeByName(name: string | undefined): EmailOutcome | undefined {
  return outcomes.find((outcome) => outcomeName(outcome) === name);
}

/** True while the email can change soon and can be canceled. */
export function isOpen(status: EmailStatus): boolean {
  return status === EmailStatus.QUEUED || status === EmailStatus.PROCESSING;
}
