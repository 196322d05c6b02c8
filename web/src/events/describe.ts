/** What an event says, in a word, a sentence and plain facts. The log of events and the timeline of an email both tell it so. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { DomainStatus } from "../../../src/gen/v1/domain_pb.ts";
import { BounceType, type Event } from "../../../src/gen/v1/event_pb.ts";
import { SuppressionReason } from "../../../src/gen/v1/suppression_pb.ts";
import { enumName } from "../parts/enum-name.ts";
import type { Word } from "../parts/mark.tsx";

export interface Told {
  word: Word;
  /** The addresses that it is about. */
  recipients: readonly string[];
  /** One sentence; words of others only as far as needed to recognise the thing. */
  text: string;
  /** What the receiver said, in its own words. */
  reply: string;
  facts: [name: string, value: string][];
  /** The stored message that it tells of, for mail that arrived. */
  inboundId?: string;
}

const words: Record<string, Word> = {
  "email.sent": { word: "Sent", color: "green" },
  "email.delivered": { word: "Delivered", color: "green" },
  "email.delayed": { word: "Delayed", color: "yellow" },
  "email.bounced": { word: "Bounced", color: "red" },
  "email.suppressed": { word: "Suppressed", color: "orange" },
  "email.failed": { word: "Failed", color: "red" },
  "email.canceled": { word: "Canceled", color: "gray" },
  "email.complained": { word: "Complained", color: "red" },
  "email.replied": { word: "Replied", color: "indigo" },
  "email.received": { word: "Received", color: "indigo" },
  "domain.updated": { word: "Domain", color: "blue" },
  "webhook.disabled": { word: "Webhook off", color: "orange" },
};

export const eventTypes = Object.keys(words);

/** A newer server may tell of things that this page does not know. */
export function wordOf(type: string): Word {
  return words[type] ?? { word: type, color: "gray" };
}

export function describe(event: Event): Told {
  const told = payloadOf(event);
  return {
    word: wordOf(event.type),
    recipients: [],
    reply: "",
    ...told,
    facts: told.facts.filter(([, v]) => v !== ""),
  };
}

type Part = Pick<Told, "text" | "facts"> & Partial<Told>;

function payloadOf({ payload }: Event): Part {
  switch (payload.case) {
    case "sent":
    case "delivered": {
      const { recipients, remoteMx, tls, smtpReply, attempts, possibleDuplicate } = payload.value;
      const who = payload.case === "sent" ? "Handed to the relay" : "Accepted by the receiving server";
      return {
        recipients,
        reply: smtpReply,
        text: `${who}${remoteMx ? ` ${remoteMx}` : ""}`,
        facts: [
          [
            "Connection",
            tls ? `${tls.protocol}, ${tls.verified ? "certificate verified" : "certificate not verified"}` : "no TLS",
          ],
          ["Attempts", String(attempts)],
          ["Note", possibleDuplicate ? "An earlier attempt ended in doubt: there may be two copies." : ""],
        ],
      };
    }
    case "delayed": {
      const { recipients, nextAttemptAt, category, enhancedCode, smtpReply, remoteMx, attempts } = payload.value;
      return {
        recipients,
        reply: smtpReply,
        text: `Not accepted for now (${saidOf(category)}); it will be tried again`,
        facts: [
          ["Server", remoteMx],
          ["Code", enhancedCode],
          ["Attempts", String(attempts)],
          ["Next attempt", nextAttemptAt ? timestampDate(nextAttemptAt).toLocaleString("en-GB") : ""],
        ],
      };
    }
    case "bounced": {
      const { recipients, bounceType, category, enhancedCode, smtpReply, remoteMx, attempts } = payload.value;
      return {
        recipients,
        reply: smtpReply,
        text: `Refused: ${saidOf(category)}`,
        facts: [
          ["Bounce", bounceWords[bounceType] ?? ""],
          ["Server", remoteMx],
          ["Code", enhancedCode],
          ["Attempts", String(attempts)],
        ],
      };
    }
    case "suppressed": {
      const { recipients, reason, sourceEventId } = payload.value;
      return {
        recipients,
        text: "Not tried: the address is on the suppression list",
        facts: [
          ["Reason", enumName(SuppressionReason, reason)],
          ["Put there by", sourceEventId],
        ],
      };
    }
    case "failed": {
      const { recipients, category, reason, attempts } = payload.value;
      return {
        recipients,
        text: reason || saidOf(category),
        facts: [
          ["Kind", saidOf(category)],
          ["Attempts", String(attempts)],
        ],
      };
    }
    case "canceled":
      return { recipients: payload.value.recipients, text: "Canceled before it was sent", facts: [] };
    case "complained": {
      const { recipients, feedbackType, userAgent } = payload.value;
      return {
        recipients,
        text: "The recipient reported it as spam",
        facts: [
          ["Kind of report", feedbackType],
          ["Reported by", userAgent],
        ],
      };
    }
    case "replied":
    case "received": {
      const { from, to, subject, inboundId } = payload.value;
      const what = payload.case === "replied" ? "Answer" : "Mail";
      return {
        text: `${what} from ${from}`,
        facts: [
          ["Subject", subject],
          ["To", to.join(", ")],
        ],
        inboundId,
      };
    }
    case "domainUpdated": {
      const { domain, status, previousStatus, message } = payload.value;
      const [before, now] = [previousStatus, status].map((value) => enumName(DomainStatus, value));
      return { text: `${domain}: ${before} → ${now}`, facts: [["Next", message]] };
    }
    case "webhookDisabled":
      return { text: `Switched off: ${payload.value.url}`, facts: [["Why", payload.value.reason]] };
    default:
      return { text: "", facts: [] };
  }
}

const bounceWords: Partial<Record<BounceType, string>> = {
  [BounceType.PERMANENT]: "permanent",
  [BounceType.TRANSIENT]: "temporary until time was over",
  [BounceType.UNDETERMINED]: "undetermined",
};

function saidOf(category: string): string {
  return category.replaceAll("_", " ");
}
