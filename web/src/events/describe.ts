/** Describes an event for people: a label, a sentence and facts. The event log and the timeline of an email use it. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { DomainStatus } from "../../../src/gen/v1/domain_pb.ts";
import { BounceType, type Event, type TlsInfo } from "../../../src/gen/v1/event_pb.ts";
import { SuppressionReason } from "../../../src/gen/v1/suppression_pb.ts";
import { enumName } from "../parts/enum-name.ts";
import type { Tone } from "../parts/outcome.tsx";
import { methodLabel, topicText } from "../suppressions/labels.ts";
import { quotaNames } from "../workspaces/quota-text.ts";

export interface EventDescription {
  label: EventLabel;
  /** The addresses that the event is about. */
  recipients: readonly string[];
  /** The sender of a reply or of other received mail. */
  sender?: string;
  /** One sentence. It contains untrusted text only where needed, such as the sender of a reply. */
  text: string;
  /** The receiver's reply, verbatim. */
  reply: string;
  facts: [name: string, value: string][];
  /** The id of the stored message, for inbound mail. */
  inboundId?: string;
  /** The id of the domain whose reports the event is about. */
  reportedDomainId?: string;
}

export type EventLabel = { text: string; tone: Tone };

const labels: Record<string, EventLabel> = {
  "email.sent": { text: "Sent", tone: "sent" },
  "email.delivered": { text: "Delivered", tone: "delivered" },
  "email.delayed": { text: "Delayed", tone: "delayed" },
  "email.bounced": { text: "Bounced", tone: "bounced" },
  "email.suppressed": { text: "Suppressed", tone: "suppressed" },
  "email.failed": { text: "Failed", tone: "failed" },
  "email.canceled": { text: "Canceled", tone: "canceled" },
  "email.complained": { text: "Complained", tone: "complained" },
  "email.replied": { text: "Replied", tone: "replied" },
  "email.received": { text: "Received", tone: "replied" },
  "email.unsubscribed": { text: "Unsubscribed", tone: "suppressed" },
  "domain.updated": { text: "Domain", tone: "queued" },
  "domain.report": { text: "New source", tone: "delayed" },
  "webhook.disabled": { text: "Webhook", tone: "failed" },
  "workspace.quota": { text: "Quota", tone: "delayed" },
  "workspace.warning": { text: "Warning", tone: "delayed" },
  "workspace.suspended": { text: "Suspended", tone: "bounced" },
  "workspace.alert": { text: "Alert", tone: "bounced" },
  "workspace.resumed": { text: "Resumed", tone: "delivered" },
  "key.expiring": { text: "Key expires", tone: "delayed" },
};

export const eventTypes = Object.keys(labels);

/** A newer server may return event types that this page does not know. */
export function eventLabel(type: string): EventLabel {
  return labels[type] ?? { text: type, tone: "queued" };
}

export function describe(event: Event): EventDescription {
  const details = describePayload(event);
  return {
    label: eventLabel(event.type),
    recipients: [],
    reply: "",
    ...details,
    facts: details.facts.filter(([, v]) => v !== ""),
  };
}

type PayloadDescription = Pick<EventDescription, "text" | "facts"> & Partial<EventDescription>;

const unconfirmed = "The receiver did not confirm an attempt and may have the message.";

function certificateText({ verified, dane }: TlsInfo): string {
  if (dane === "match" || dane === "ta-match") return "certificate verified by DANE";
  const text = verified ? "certificate verified" : "certificate not verified";
  return dane === "unusable" ? `${text}; TLS required by DANE` : text;
}

function describePayload({ payload }: Event): PayloadDescription {
  switch (payload.case) {
    case "sent":
    case "delivered": {
      const { recipients, remoteMx, tls, smtpReply, attempts, possibleDuplicate } = payload.value;
      const acceptedBy = payload.case === "sent" ? "Accepted by the relay" : "Accepted by the receiving server";
      return {
        recipients,
        reply: smtpReply,
        text: `${acceptedBy}${remoteMx ? ` ${remoteMx}` : ""}`,
        facts: [
          ["Connection", tls ? `${tls.protocol}, ${certificateText(tls)}` : "no TLS"],
          ["Attempts", String(attempts)],
          [
            "Note",
            possibleDuplicate ? "The result of an earlier attempt is unknown: the recipient may have two copies." : "",
          ],
        ],
      };
    }
    case "delayed": {
      const { recipients, nextAttemptAt, category, enhancedCode, smtpReply, remoteMx, attempts, possibleDuplicate } =
        payload.value;
      return {
        recipients,
        reply: smtpReply,
        text: `Temporary failure (${categoryText(category)}); Posthorn will retry`,
        facts: [
          ["Server", remoteMx],
          ["Code", enhancedCode],
          ["Attempts", String(attempts)],
          ["Next attempt", nextAttemptAt ? timestampDate(nextAttemptAt).toLocaleString("en-GB") : ""],
          ["Note", possibleDuplicate ? unconfirmed : ""],
        ],
      };
    }
    case "bounced": {
      const { recipients, bounceType, category, enhancedCode, smtpReply, remoteMx, attempts, possibleDuplicate } =
        payload.value;
      return {
        recipients,
        reply: smtpReply,
        text: `Rejected: ${categoryText(category)}`,
        facts: [
          ["Bounce", bounceTypes[bounceType] ?? ""],
          ["Server", remoteMx],
          ["Code", enhancedCode],
          ["Attempts", String(attempts)],
          ["Note", possibleDuplicate ? unconfirmed : ""],
        ],
      };
    }
    case "suppressed": {
      const { recipients, reason, sourceEventId, topic } = payload.value;
      const hasLeft = reason === SuppressionReason.UNSUBSCRIBED;
      return {
        recipients,
        text: hasLeft
          ? `Not attempted: the recipient has unsubscribed from ${topic}`
          : "Not attempted: the address is on the suppression list",
        facts: [
          ["Reason", enumName(SuppressionReason, reason)],
          ["Source event", sourceEventId],
        ],
      };
    }
    case "unsubscribed": {
      const { recipients, topic, method, resubscribed } = payload.value;
      const what = topicText(topic);
      return {
        recipients,
        text: resubscribed ? `The recipient subscribed to ${what} again` : `The recipient unsubscribed from ${what}`,
        facts: [["Method", methodLabel(method).text]],
      };
    }
    case "failed": {
      const { recipients, category, reason, attempts } = payload.value;
      return {
        recipients,
        text: reason || categoryText(category),
        facts: [
          ["Category", categoryText(category)],
          ["Attempts", String(attempts)],
        ],
      };
    }
    case "canceled":
      return { recipients: payload.value.recipients, text: "Canceled before it was sent", facts: [] };
    case "complained": {
      const { recipients, feedbackType, userAgent } = payload.value;
      // RFC 6430: the recipient takes back a report, or found the email in the spam folder.
      const isNotSpam = feedbackType === "not-spam";
      return {
        ...(isNotSpam && { label: { text: "Not spam", tone: "delivered" } }),
        recipients,
        text: isNotSpam ? "The recipient marked it as not spam" : "The recipient reported it as spam",
        facts: [
          ["Report type", feedbackType],
          ["Reported by", userAgent],
        ],
      };
    }
    case "replied":
    case "received": {
      const { from, to, subject, inboundId } = payload.value;
      const what = payload.case === "replied" ? "Reply" : "Mail";
      return {
        text: `${what} from ${from}`,
        sender: from,
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
      return { text: `${domain}: ${before} → ${now}`, facts: [["Next step", message]] };
    }
    case "domainReport": {
      const { domain, domainId, ip, own, messages, headerFrom, reporter, disposition, moreSources } = payload.value;
      const { dkimDomains, spfDomains } = payload.value;
      const count = messages === 1 ? "1 message" : `${messages.toLocaleString("en")} messages`;
      return {
        text: `${domain}: ${count} from ${own ? `${ip}, an address of this service,` : ip} failed DMARC`,
        facts: [
          ["From", headerFrom === domain ? "" : headerFrom],
          ["DKIM", dkimDomains.join(", ")],
          ["SPF", spfDomains.join(", ")],
          ["Most were", disposition],
          ["Reported by", reporter],
          ["Other new sources", moreSources > 0 ? String(moreSources) : ""],
        ],
        reportedDomainId: domainId,
      };
    }
    case "webhookDisabled":
      return { text: `Disabled: ${payload.value.url}`, facts: [["Reason", payload.value.reason]] };
    case "workspaceQuota": {
      const { kind, percent, limit, used, resetsAt } = payload.value;
      const name = quotaNames[kind] ?? "Quota";
      return {
        text: percent >= 100 ? `${name}: the quota is used up` : `${name}: ${percent} % of the quota is used`,
        facts: [
          ["Used", `${used} of ${limit}`],
          ["Starts again", resetsAt ? timestampDate(resetsAt).toLocaleString("en-GB") : ""],
        ],
      };
    }
    case "workspaceWarning":
      return { text: payload.value.warning?.message ?? "", facts: [] };
    case "workspaceAlert":
      return { text: payload.value.message, facts: [] };
    case "workspaceSuspended":
      return { text: "The workspace cannot send", facts: [["Reason", payload.value.reason]] };
    case "workspaceResumed":
      return { text: "The workspace can send again", facts: [] };
    case "keyExpiring": {
      const { name, prefix, expiresAt, lastUsedAt } = payload.value;
      return {
        text: `${name} (${prefix}…) expires soon`,
        facts: [
          ["Expires", expiresAt ? timestampDate(expiresAt).toLocaleString("en-GB") : ""],
          ["Last used", lastUsedAt ? timestampDate(lastUsedAt).toLocaleString("en-GB") : "never"],
        ],
      };
    }
    default:
      return { text: "", facts: [] };
  }
}

const bounceTypes: Partial<Record<BounceType, string>> = {
  [BounceType.PERMANENT]: "permanent",
  [BounceType.TRANSIENT]: "temporary until retries ended",
  [BounceType.UNDETERMINED]: "undetermined",
};

function categoryText(category: string): string {
  return category.replaceAll("_", " ");
}
