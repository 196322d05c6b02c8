// Generated from the contract in proto/ by "npm run generate": the types of v1/event.proto. Not to be edited.
import type { DomainStatus } from "./domain.ts";
import type { SuppressionReason } from "./suppression.ts";

/** What every event has. */
export interface EventEnvelope {
  /** Identifier of the event, `evt_` and a UUID. Webhooks carry it as `webhook-id`. */
  id: string;
  /** When it happened. */
  createdAt: string;
  /** Id of the email that it is about; for a reply, the email that was answered. Empty where there is none. */
  emailId: string;
  /** Message-ID of that email. Empty where there is none. */
  messageId: string;
  /** Metadata of that email, as given at sending. */
  metadata: Record<string, string>;
}

/** One thing that happened. `type` and the payload field go together: `email.delivered` has `delivered`, and so on. */
export type Event =
  | (EventEnvelope & { type: "email.sent"; sent: EmailSentEvent })
  | (EventEnvelope & { type: "email.delivered"; delivered: EmailDeliveredEvent })
  | (EventEnvelope & { type: "email.delayed"; delayed: EmailDelayedEvent })
  | (EventEnvelope & { type: "email.bounced"; bounced: EmailBouncedEvent })
  | (EventEnvelope & { type: "email.suppressed"; suppressed: EmailSuppressedEvent })
  | (EventEnvelope & { type: "email.failed"; failed: EmailFailedEvent })
  | (EventEnvelope & { type: "email.canceled"; canceled: EmailCanceledEvent })
  | (EventEnvelope & { type: "email.complained"; complained: EmailComplainedEvent })
  | (EventEnvelope & { type: "email.replied"; replied: EmailRepliedEvent })
  | (EventEnvelope & { type: "email.received"; received: EmailReceivedEvent })
  | (EventEnvelope & { type: "domain.updated"; domainUpdated: DomainUpdatedEvent })
  | (EventEnvelope & { type: "webhook.disabled"; webhookDisabled: WebhookDisabledEvent });

/** The field of the payload, by event type. */
export const payloadFields = {
  "email.sent": "sent",
  "email.delivered": "delivered",
  "email.delayed": "delayed",
  "email.bounced": "bounced",
  "email.suppressed": "suppressed",
  "email.failed": "failed",
  "email.canceled": "canceled",
  "email.complained": "complained",
  "email.replied": "replied",
  "email.received": "received",
  "domain.updated": "domainUpdated",
  "webhook.disabled": "webhookDisabled",
} as const;

/** An event with its place in the workspace's log. */
export interface EventEntry {
  /** Number of the event in the log, as a decimal string. Numbers start at 1 and have no gaps. */
  cursor: string;
  /** The event. */
  event: Event;
}

/** The TLS connection that carried an email. */
export interface TlsInfo {
  /** Protocol version, for example `TLSv1.3`. */
  protocol: string;
  /** Cipher, by its IANA or OpenSSL name. */
  cipher: string;
  /** True when the receiver's certificate was valid for its name. */
  verified: boolean;
  /** The MTA-STS policy of the recipient's domain: `enforce` or `testing`. Empty when there is none. */
  mtaSts: string;
}

/** Who an inbound message can be trusted to come from. */
export interface Verdicts {
  /** SPF of the envelope sender. */
  spf: Verdict;
  /** Domain that SPF was judged for. */
  spfDomain: string;
  /** DKIM: `VERDICT_PASS` when at least one signature is valid. */
  dkim: Verdict;
  /** Domain of the valid signature, preferring one that matches the From header. */
  dkimDomain: string;
  /** DMARC of the From header's domain. Only a pass proves that the message comes from that domain. */
  dmarc: Verdict;
}

/** A file of an inbound message. GetInboundAttachment returns its content. */
export interface InboundAttachment {
  /** Identifier of the attachment within its message. */
  id: string;
  /** Name of the file as the sender gave it: do not use it as a path. */
  filename: string;
  /** MIME type as the sender gave it. */
  contentType: string;
  /** Size of the decoded file in bytes. */
  sizeBytes: number;
  /** Content id by which the HTML shows it inline. Empty for an ordinary attachment. */
  contentId: string;
}

/** Payload of `email.sent`. */
export interface EmailSentEvent {
  /** The addresses that were handed over. */
  recipients: string[];
  /** Host name of the relay. */
  remoteMx: string;
  /** The TLS connection. Absent when there was none. */
  tls?: TlsInfo;
  /** The relay's reply. */
  smtpReply: string;
  /** Number of attempts, this one included. */
  attempts: number;
  /** True when an earlier attempt ended in doubt, so that the recipient may have two copies. */
  possibleDuplicate: boolean;
  /** Why the relay was asked, where mail usually goes to the recipient's own server. Empty otherwise. */
  relayReason: string;
}

/** Payload of `email.delivered`. */
export interface EmailDeliveredEvent {
  /** The addresses that were delivered to. */
  recipients: string[];
  /** Host name of the mail server that accepted. */
  remoteMx: string;
  /** The TLS connection. Absent when there was none. */
  tls?: TlsInfo;
  /** The server's reply. */
  smtpReply: string;
  /** Number of attempts, this one included. */
  attempts: number;
  /** True when an earlier attempt ended in doubt, so that the recipient may have two copies. */
  possibleDuplicate: boolean;
}

/** Payload of `email.delayed`. */
export interface EmailDelayedEvent {
  /** The addresses that are delayed. */
  recipients: string[];
  /** When the next attempt is due. */
  nextAttemptAt: string;
  /** The kind of failure in one word, for example `greylisted`, `rate_limited`, `mailbox_full` or `connection`. */
  category: string;
  /** Enhanced status code of RFC 3463, for example `4.2.2`. Empty when the receiver gave none. */
  enhancedCode: string;
  /** The receiver's reply in its own words, or what went wrong before there was one. */
  smtpReply: string;
  /** Host name of the mail server. Empty when none was reached. */
  remoteMx: string;
  /** Number of attempts so far. */
  attempts: number;
}

/** Payload of `email.bounced`. */
export interface EmailBouncedEvent {
  /** The addresses that bounced. */
  recipients: string[];
  /** Whether trying again could help. */
  bounceType: BounceType;
  /** The kind of bounce in one word, for example `unknown_mailbox`, `mailbox_full`, `policy`, `spam` or `expired`. */
  category: string;
  /** Enhanced status code of RFC 3463, for example `5.1.1`. Empty when the receiver gave none. */
  enhancedCode: string;
  /** The receiver's reply in its own words. */
  smtpReply: string;
  /** Host name of the mail server that refused. Empty when none was reached. */
  remoteMx: string;
  /** Number of attempts. */
  attempts: number;
}

/** Payload of `email.suppressed`. */
export interface EmailSuppressedEvent {
  /** The addresses that were not tried. */
  recipients: string[];
  /** Why the address is on the suppression list. */
  reason: SuppressionReason;
  /** Id of the event that put it there. Empty when a person or an import did. */
  sourceEventId: string;
}

/** Payload of `email.failed`. */
export interface EmailFailedEvent {
  /** The addresses that failed. */
  recipients: string[];
  /** The kind of failure in one word, for example `content_lost`, `domain_deleted` or `purged`. */
  category: string;
  /** What went wrong, in a sentence. */
  reason: string;
  /** Number of attempts. */
  attempts: number;
}

/** Payload of `email.canceled`. */
export interface EmailCanceledEvent {
  /** The addresses that will not be tried any more. */
  recipients: string[];
}

/** Payload of `email.complained`. */
export interface EmailComplainedEvent {
  /** The addresses that complained. */
  recipients: string[];
  /** Kind of the report by RFC 5965, for example `abuse` or `fraud`. */
  feedbackType: string;
  /** The program that made the report, as it names itself. */
  userAgent: string;
  /** When the receiver says that the email had arrived. Absent when it does not say. */
  arrivedAt?: string;
}

/** Payload of `email.replied`. */
export interface EmailRepliedEvent {
  /** Who answered, from the From header. */
  from: string;
  /** The addresses of this workspace that the answer was sent to. */
  to: string[];
  /** Subject line. */
  subject: string;
  /**
   * Plain text of the answer, quoted text included; made from the HTML where there is none. Texts in events end after
   * 262,144 characters: GetInbound has the whole.
   */
  body: string;
  /** The new text alone: quoted text and the line above it are taken off. */
  newText: string;
  /** HTML of the answer. Hostile until sanitised. */
  html: string;
  /** Message-ID of the answer. */
  messageId: string;
  /** Message-ID that the answer refers to. */
  inReplyTo: string;
  /** Id of the email that was answered. */
  parentEmailId: string;
  /** Id of the stored inbound message, for InboundService. */
  inboundId: string;
  /** Who the message can be trusted to come from. */
  verdicts: Verdicts;
  /** The files that came with it. */
  attachments: InboundAttachment[];
}

/** Payload of `email.received`. */
export interface EmailReceivedEvent {
  /** Sender, from the From header. */
  from: string;
  /** The addresses of this workspace that the message was sent to. */
  to: string[];
  /** Subject line. */
  subject: string;
  /**
   * Plain text of the message; made from the HTML where there is none. Texts in events end after 262,144 characters:
   * GetInbound has the whole.
   */
  body: string;
  /** HTML of the message. Hostile until sanitised. */
  html: string;
  /** Message-ID of the message. */
  messageId: string;
  /** Message-ID that the message refers to. Empty when it refers to none. */
  inReplyTo: string;
  /** Id of the email that an automatic answer refers to. Empty otherwise. */
  parentEmailId: string;
  /** Id of the stored inbound message, for InboundService. */
  inboundId: string;
  /** True for automatic mail, such as an out-of-office answer (RFC 3834). */
  autoSubmitted: boolean;
  /** Who the message can be trusted to come from. */
  verdicts: Verdicts;
  /** The files that came with it. */
  attachments: InboundAttachment[];
}

/** Payload of `domain.updated`. */
export interface DomainUpdatedEvent {
  /** Id of the domain. */
  domainId: string;
  /** The domain name. */
  domain: string;
  /** The new status. */
  status: DomainStatus;
  /** The status before. */
  previousStatus: DomainStatus;
  /** True when mail can be sent from the domain now. */
  canSend: boolean;
  /** True when mail to the domain is received now. */
  canReceive: boolean;
  /** What is needed next, in a sentence. */
  message: string;
}

/** Payload of `webhook.disabled`. */
export interface WebhookDisabledEvent {
  /** Id of the webhook. */
  webhookId: string;
  /** Its address. */
  url: string;
  /** Why it was disabled, in a sentence. */
  reason: string;
  /** Since when every delivery had failed. Absent when the endpoint itself asked to be disabled (HTTP 410). */
  failingSince?: string;
}

/** Whether trying again could help after a bounce. */
export type BounceType =
  | "BOUNCE_TYPE_UNSPECIFIED"
  | "BOUNCE_TYPE_PERMANENT"
  | "BOUNCE_TYPE_TRANSIENT"
  | "BOUNCE_TYPE_UNDETERMINED";

/** Result of one check of an inbound message, with the names of RFC 8601. */
export type Verdict =
  | "VERDICT_UNSPECIFIED"
  | "VERDICT_PASS"
  | "VERDICT_FAIL"
  | "VERDICT_SOFTFAIL"
  | "VERDICT_NEUTRAL"
  | "VERDICT_NONE"
  | "VERDICT_TEMPERROR"
  | "VERDICT_PERMERROR";
