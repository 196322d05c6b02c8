// Generated from the contract in proto/ by "npm run generate": the types of v1/event.proto. Do not edit.
import type { DomainStatus } from "./domain.ts";
import type { SuppressionReason, UnsubscribeMethod } from "./suppression.ts";

/** The fields of every event. */
export interface EventEnvelope {
  /** Identifier of the event, `evt_` and a UUID. Webhooks carry it as `webhook-id`. */
  id: string;
  /** When it happened. */
  createdAt: string;
  /** Id of the email that the event is about; for a reply, the email that it replies to. Empty if there is none. */
  emailId: string;
  /** Message-ID of that email. Empty if there is none. */
  messageId: string;
  /** Metadata of that email, as given in the send request. */
  metadata: Record<string, string>;
}

/** One event. `type` determines which payload field is set: `email.delivered` has `delivered`, and so on. */
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
  | (EventEnvelope & { type: "webhook.disabled"; webhookDisabled: WebhookDisabledEvent })
  | (EventEnvelope & { type: "workspace.quota"; workspaceQuota: WorkspaceQuotaEvent })
  | (EventEnvelope & { type: "workspace.warning"; workspaceWarning: WorkspaceWarningEvent })
  | (EventEnvelope & { type: "workspace.suspended"; workspaceSuspended: WorkspaceSuspendedEvent })
  | (EventEnvelope & { type: "workspace.resumed"; workspaceResumed: WorkspaceResumedEvent })
  | (EventEnvelope & { type: "key.expiring"; keyExpiring: KeyExpiringEvent })
  | (EventEnvelope & { type: "workspace.alert"; workspaceAlert: WorkspaceAlertEvent })
  | (EventEnvelope & { type: "email.unsubscribed"; unsubscribed: EmailUnsubscribedEvent })
  | (EventEnvelope & { type: "domain.report"; domainReport: DomainReportEvent });

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
  "workspace.quota": "workspaceQuota",
  "workspace.warning": "workspaceWarning",
  "workspace.suspended": "workspaceSuspended",
  "workspace.resumed": "workspaceResumed",
  "key.expiring": "keyExpiring",
  "workspace.alert": "workspaceAlert",
  "email.unsubscribed": "unsubscribed",
  "domain.report": "domainReport",
} as const;

/** An event with its position in the workspace's log. */
export interface EventEntry {
  /**
   * Position of the event in the log: a decimal number. Numbers start at 1 and have no gaps. After the first cut of the log, a dash
   * and the name of the cut follow.
   */
  cursor: string;
  /** The event. */
  event: Event;
}

/** The TLS connection over which an email was sent. */
export interface TlsInfo {
  /** Protocol version, for example `TLSv1.3`. */
  protocol: string;
  /** Cipher, by its IANA or OpenSSL name. */
  cipher: string;
  /** True when the receiver's certificate was valid for its name. */
  verified: boolean;
  /** The MTA-STS policy of the recipient's domain: `enforce` or `testing`. Empty when there is none. */
  mtaSts: string;
  /**
   * How the connection met the TLSA records of the mail server (DANE, RFC 7672), which come before MTA-STS. `match`: the
   * certificate equals a record of usage 3; its names and dates do not matter. `ta-match`: the certificate is valid for
   * the server and issued by the authority in a record of usage 2. `unusable`: no record is usable, so TLS was required
   * but the certificate was not checked. Empty when DANE did not apply.
   */
  dane: string;
}

/** Results of the sender checks of an inbound message. */
export interface Verdicts {
  /** SPF of the envelope sender. */
  spf: Verdict;
  /** Domain that SPF was checked for. */
  spfDomain: string;
  /** DKIM: `VERDICT_PASS` when at least one signature is valid. */
  dkim: Verdict;
  /** Domain of the valid signature, preferring one that matches the From header. */
  dkimDomain: string;
  /** DMARC of the From header's domain (RFC 9989). Only a pass proves that the message comes from that domain. */
  dmarc: Verdict;
  /**
   * ARC (RFC 8617): `VERDICT_PASS` when every forwarder's seal is valid. `VERDICT_UNSPECIFIED` for messages that were
   * received before ARC was checked. A pass proves only which server sealed the message last, not that it is harmless:
   * anyone can seal. Trust it if you trust `arc_domain`.
   */
  arc: Verdict;
  /** Domain of the last seal. Empty unless ARC passes. */
  arcDomain: string;
}

/** An attachment of an inbound message. GetInboundAttachment returns its content. */
export interface InboundAttachment {
  /** Identifier of the attachment within its message. */
  id: string;
  /** File name from the sender. Untrusted: do not use it as a path. */
  filename: string;
  /** MIME type from the sender. */
  contentType: string;
  /** Size of the decoded file in bytes. */
  sizeBytes: number;
  /** Content id of an inline image. Empty for a regular attachment. */
  contentId: string;
}

/** Payload of `email.sent`. */
export interface EmailSentEvent {
  /** The addresses that the relay accepted. */
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
  /** Why the relay was used although mail normally goes to the recipient's own server. Empty otherwise. */
  relayReason: string;
}

/** Payload of `email.delivered`. */
export interface EmailDeliveredEvent {
  /** The addresses that the email was delivered to. */
  recipients: string[];
  /** Host name of the mail server that accepted the email. */
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
  /** Category of the failure, for example `greylisted`, `rate_limited`, `mailbox_full` or `connection`. */
  category: string;
  /** Enhanced status code of RFC 3463, for example `4.2.2`. Empty when the receiver gave none. */
  enhancedCode: string;
  /** The receiver's reply, verbatim, or a description of the failure when there was no reply. */
  smtpReply: string;
  /** Host name of the mail server. Empty when none was reached. */
  remoteMx: string;
  /** Number of attempts so far. */
  attempts: number;
  /**
   * True when an attempt ended in doubt: the receiver may have the message although it did not confirm it, so the next
   * attempt may be a second copy.
   */
  possibleDuplicate: boolean;
}

/** Payload of `email.bounced`. */
export interface EmailBouncedEvent {
  /** The addresses that bounced. */
  recipients: string[];
  /** Whether a new attempt could succeed. */
  bounceType: BounceType;
  /** Category of the bounce, for example `unknown_mailbox`, `mailbox_full`, `policy`, `spam` or `expired`. */
  category: string;
  /** Enhanced status code of RFC 3463, for example `5.1.1`. Empty when the receiver gave none. */
  enhancedCode: string;
  /** The receiver's reply, verbatim. */
  smtpReply: string;
  /** Host name of the mail server that rejected the email. Empty when none was reached. */
  remoteMx: string;
  /** Number of attempts. */
  attempts: number;
  /** True when an attempt ended in doubt: the recipient may have a copy although the email bounced. */
  possibleDuplicate: boolean;
}

/** Payload of `email.suppressed`. */
export interface EmailSuppressedEvent {
  /** The addresses that were not attempted. */
  recipients: string[];
  /** Why the address is on the suppression list. */
  reason: SuppressionReason;
  /** Id of the event that added it to the list. Empty when a caller or an import added it. */
  sourceEventId: string;
  /** The topic of the email. Only with `SUPPRESSION_REASON_UNSUBSCRIBED`. */
  topic: string;
}

/**
 * Payload of `email.unsubscribed`. Written once for each change, however often the link is used. An entry that AddUnsubscribe or
 * RemoveUnsubscribe changes causes no event.
 */
export interface EmailUnsubscribedEvent {
  /** The address of the recipient, as the email has it. */
  recipients: string[];
  /** The topic; `*` for all topics, also later ones. */
  topic: string;
  /** How the recipient did it. */
  method: UnsubscribeMethod;
  /** True: the recipient subscribed to the topic again, on the page of the link. */
  resubscribed: boolean;
}

/** Payload of `email.failed`. */
export interface EmailFailedEvent {
  /** The addresses that failed. */
  recipients: string[];
  /** Category of the failure, for example `content_lost`, `domain_deleted` or `purged`. */
  category: string;
  /** The reason, in a sentence. */
  reason: string;
  /** Number of attempts. */
  attempts: number;
}

/** Payload of `email.canceled`. */
export interface EmailCanceledEvent {
  /** The addresses that will not be attempted any more. */
  recipients: string[];
}

/** Payload of `email.complained`. */
export interface EmailComplainedEvent {
  /** The addresses that complained. */
  recipients: string[];
  /** Type of the report (RFC 5965), for example `abuse` or `fraud`. */
  feedbackType: string;
  /** The User-Agent of the program that generated the report. */
  userAgent: string;
  /** When the email arrived at the receiver, according to the report. Absent when the report does not say. */
  arrivedAt?: string;
}

/** Payload of `email.replied`. */
export interface EmailRepliedEvent {
  /** Sender of the reply, from the From header. */
  from: string;
  /** The addresses of this workspace that the reply was sent to. */
  to: string[];
  /** Subject line. */
  subject: string;
  /**
   * Plain text of the reply, including quoted text; generated from the HTML if there is none. Events truncate text after
   * 262,144 characters; GetInbound returns all of it.
   */
  body: string;
  /** Only the new text, without quoted text and its attribution line. */
  newText: string;
  /** HTML of the reply. Untrusted: sanitize it before display. */
  html: string;
  /** Message-ID of the reply. */
  messageId: string;
  /** Message-ID of the message that it replies to. */
  inReplyTo: string;
  /** Id of the email that it replies to. */
  parentEmailId: string;
  /** Id of the stored inbound message, for InboundService. */
  inboundId: string;
  /** Results of SPF, DKIM, DMARC and ARC. */
  verdicts: Verdicts;
  /** The attachments, without their content. */
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
   * Plain text of the message; generated from the HTML if there is none. Events truncate text after 262,144 characters;
   * GetInbound returns all of it.
   */
  body: string;
  /** HTML of the message. Untrusted: sanitize it before display. */
  html: string;
  /** Message-ID of the message. */
  messageId: string;
  /** Message-ID that the message refers to. Empty when there is none. */
  inReplyTo: string;
  /** Id of the email that an automatic reply refers to. Empty otherwise. */
  parentEmailId: string;
  /** Id of the stored inbound message, for InboundService. */
  inboundId: string;
  /** True for automatic mail, such as an out-of-office reply (RFC 3834). */
  autoSubmitted: boolean;
  /** Results of SPF, DKIM, DMARC and ARC. */
  verdicts: Verdicts;
  /** The attachments, without their content. */
  attachments: InboundAttachment[];
}

/**
 * Payload of `domain.report`. An address is new if no report of the retention period (400 days by default) names it with mail that failed
 * DMARC. A report leads to at most 3 events, for the addresses with the most messages, and a domain to at most 10 a day.
 */
export interface DomainReportEvent {
  /** Id of the domain. */
  domainId: string;
  /** The domain name. */
  domain: string;
  /** The address that sent the mail. */
  ip: string;
  /** True: the address belongs to this service. */
  own: boolean;
  /** The domain in From: the domain itself or a subdomain. */
  headerFrom: string;
  /** Number of messages from this address that failed DMARC, in this report. */
  messages: number;
  /** The domain that the report is authenticated for. */
  reporter: string;
  /** Name of the organization that wrote the report, as it calls itself. */
  organization: string;
  /** The reporter's own identifier of the report. */
  reportId: string;
  /** The domains that signed with DKIM, at most 10. */
  dkimDomains: string[];
  /** The domains of SPF (MAIL FROM), at most 10. */
  spfDomains: string[];
  /** What the receiver did with most of these messages: `delivered`, `quarantined` or `rejected`. */
  disposition: string;
  /** Number of other new addresses in the same report that have no event of their own. Only in the last event of a report. */
  moreSources: number;
}

/** Payload of `domain.updated`. */
export interface DomainUpdatedEvent {
  /** Id of the domain. */
  domainId: string;
  /** The domain name. */
  domain: string;
  /** The new status. */
  status: DomainStatus;
  /** The previous status. */
  previousStatus: DomainStatus;
  /** True when the domain can send. */
  canSend: boolean;
  /** True when the domain can receive. */
  canReceive: boolean;
  /** Next step, in a sentence. */
  message: string;
}

/** Payload of `webhook.disabled`. */
export interface WebhookDisabledEvent {
  /** Id of the webhook. */
  webhookId: string;
  /** URL of the webhook. */
  url: string;
  /** Why the webhook was disabled, in a sentence. */
  reason: string;
  /** Start of the uninterrupted failures. Absent when the endpoint asked to be disabled (HTTP 410). */
  failingSince?: string;
}

/** Payload of `workspace.quota`. */
export interface WorkspaceQuotaEvent {
  /** The quota. */
  kind: QuotaKind;
  /** 80 or 100: the percentage of the quota that was reached. At 100, more is refused. */
  percent: number;
  /** The most that the workspace may use. */
  limit: number;
  /** What the workspace used when this was noticed. */
  used: number;
  /** When the current hour or day ends and the count starts again. Absent for a quota that does not count by time. */
  resetsAt?: string;
}

/** Figures about the last recipients of a workspace that exceed a limit. */
export interface SendingWarning {
  /** `bounces` or `complaints`. */
  figure: string;
  /** The number of bounces or complaints. */
  count: number;
  /** The number of recipients that they are counted over. */
  recipients: number;
  /** The figures and the limit, in a sentence. */
  message: string;
}

/** Payload of `workspace.warning`. */
export interface WorkspaceWarningEvent {
  /** The figures. */
  warning: SendingWarning;
}

/** Payload of `workspace.suspended`. */
export interface WorkspaceSuspendedEvent {
  /** Why, in a sentence. */
  reason: string;
  /** The figures, if bounces or complaints were the reason. Absent when the operator suspended the workspace. */
  warning?: SendingWarning;
}

/** Payload of `workspace.resumed`. */
export interface WorkspaceResumedEvent {
  /** When the suspension began. */
  suspendedAt: string;
}

/** Payload of `workspace.alert`: a rate of the last 24 hours passed its threshold. Change thresholds with UpdateStatsSettings. */
export interface WorkspaceAlertEvent {
  /** `bounces` or `complaints`. */
  figure: string;
  /** The rate, from 0 to 1. */
  rate: number;
  /** The threshold that it passed, from 0 to 1. */
  threshold: number;
  /** The number of bounces or complaints. */
  count: number;
  /** The number of recipients that they are counted over. */
  recipients: number;
  /** The figures and the threshold, in a sentence. */
  message: string;
}

/** Payload of `key.expiring`: an API key expires soon. Rotate it with RotateKey, or extend it with UpdateKey. */
export interface KeyExpiringEvent {
  /** Id of the key. */
  keyId: string;
  /** Name of the key. */
  name: string;
  /** The public prefix of the key. */
  prefix: string;
  /** When the key expires. */
  expiresAt: string;
  /** Which reminder this is: 7 or 1 days before the key expires. */
  daysLeft: number;
  /** When the key was last used, to the minute. Absent when it was never used. */
  lastUsedAt?: string;
}

/** Whether a new attempt could succeed after a bounce. */
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

/** What a quota limits. */
export type QuotaKind =
  | "QUOTA_KIND_UNSPECIFIED"
  | "QUOTA_KIND_EMAILS_PER_HOUR"
  | "QUOTA_KIND_EMAILS_PER_DAY"
  | "QUOTA_KIND_STORED_BYTES"
  | "QUOTA_KIND_INBOUND_PER_HOUR"
  | "QUOTA_KIND_DOMAINS"
  | "QUOTA_KIND_KEYS"
  | "QUOTA_KIND_WEBHOOKS"
  | "QUOTA_KIND_MEMBERS"
  | "QUOTA_KIND_STREAMS";
