// Generated from the contract in proto/ by "npm run generate": the types of v1/email.proto. Do not edit.
import type { Event, EventEntry } from "./event.ts";
import type { FieldViolation } from "./error-details.ts";

/** The recipients of an email, counted by their status. The counts except `complained` add up to the number of recipients. */
export interface RecipientCounts {
  /** Waiting for the first attempt, or being attempted for the first time. */
  queued: number;
  /** Refused temporarily; another attempt follows. */
  delayed: number;
  /** Accepted by the recipient's own mail server. */
  delivered: number;
  /** Handed to the relay. */
  sent: number;
  /** Permanently rejected by the receiver. */
  bounced: number;
  /** Failed for a reason within this service. */
  failed: number;
  /** Not attempted, because the address is suppressed. */
  suppressed: number;
  /** Canceled before it was sent. */
  canceled: number;
  /** Reported as spam. These recipients are also counted as delivered or sent. */
  complained: number;
}

/** A file attached to an email. */
export interface Attachment {
  /** Content of the file in base64. Required. */
  base64Content: string;
  /** File name that the recipient sees. Required, any script, no line breaks. */
  filename: string;
  /** MIME type, for example `application/pdf`. `application/octet-stream` when unset. */
  contentType?: string;
  /** Content id of an inline image: with `logo` here, the HTML shows it with `<img src="cid:logo">`. Unset: a regular attachment. */
  contentId?: string;
}

/** An attachment of a stored email, without its content. */
export interface AttachmentInfo {
  /** Name of the file. */
  filename: string;
  /** MIME type. */
  contentType: string;
  /** Size of the decoded file in bytes. */
  sizeBytes: number;
  /** Content id of an inline image. Empty for a regular attachment. */
  contentId: string;
}

/** A stored email. */
export interface Email {
  /** Identifier of the email, `em_` and a UUID. */
  id: string;
  /** Current status. */
  status: EmailStatus;
  /** The Message-ID header, with its angle brackets. */
  messageId: string;
  /** Human-readable status; for a failure, the reason. */
  statusMessage: string;
  /** The sender, as given. */
  from: string;
  /** Primary recipients, as given. */
  to: string[];
  /** Carbon-copy recipients, as given. */
  cc: string[];
  /** Blind-copy recipients, as given. */
  bcc: string[];
  /** Subject line. */
  subject: string;
  /** The metadata given in the send request. */
  metadata: Record<string, string>;
  /** When the email was accepted. */
  createdAt: string;
  /** When the email or one of its recipients last changed. */
  updatedAt: string;
  /** When the first attempt is due, for a scheduled email. Absent otherwise. */
  scheduledAt?: string;
  /** When retries end. */
  expiresAt: string;
  /** The sending domain. */
  domain: string;
  /** True when it was sent with a test key: nothing leaves the machine, and the outcomes are simulated. */
  test: boolean;
  /** The state of each recipient; each address occurs once. Set by GetEmail, empty in lists. */
  recipients: EmailRecipient[];
  /** True while the content is stored and GetEmailContent can return it. */
  hasContent: boolean;
  /** Size of the content in bytes, as given: text, HTML and decoded attachments. */
  sizeBytes: number;
  /** The attachments, without their content. Set by GetEmail, empty in lists. */
  attachments: AttachmentInfo[];
  /** What became of the email as a whole. Unlike `status`, it shows bounces and complaints after delivery. */
  outcome: EmailOutcome;
  /** The recipients, counted by their status. */
  recipientCounts: RecipientCounts;
  /** True when a reply to this email arrived. */
  replied: boolean;
  /** Id of the API key that sent the email. */
  keyId: string;
  /** The topic that the recipient can unsubscribe from. Empty for an email without `unsubscribe`. */
  unsubscribeTopic: string;
}

/** The state of one recipient of an email. */
export interface EmailRecipient {
  /** The address. */
  address: string;
  /** Status of this recipient. */
  status: RecipientStatus;
  /** Number of attempts so far. */
  attempts: number;
  /** The receiver's last reply, verbatim, or a description of the failure when there was no reply. */
  lastReply: string;
  /** When the last attempt ended. Absent before the first. */
  lastAttemptAt?: string;
  /** When the next attempt is due. Absent when there is none. */
  nextAttemptAt?: string;
  /** Host name of the mail server of the last attempt. */
  remoteMx: string;
  /** When the recipient was settled. Absent before. */
  settledAt?: string;
}

/** Request of SendEmail. */
export interface SendEmailRequest {
  /**
   * Sender, `a@example.com` or `Name <a@example.com>`. Required. Its domain must be registered in this workspace (subdomains are
   * separate registrations) and able to send.
   */
  from: string;
  /**
   * Primary recipients. Required, at least one. At most 50 recipients in `to`, `cc` and `bcc` together; an address that is given
   * twice gets the email once.
   */
  to: string[];
  /** Carbon-copy recipients. */
  cc?: string[];
  /** Blind-copy recipients. They do not appear in any header. */
  bcc?: string[];
  /** Subject line. Required, may be empty. At most 998 characters, no line breaks. */
  subject: string;
  /**
   * Plain-text content. Always recommended, because it improves deliverability. An email needs `body`, `html` or an attachment;
   * an empty string does not count.
   */
  body?: string;
  /** HTML content. */
  html?: string;
  /** Your own data. Events and webhooks include it. At most 50 entries; keys up to 64 and values up to 1,024 characters. */
  metadata?: Record<string, string>;
  /** Send at this time, up to 30 days ahead. A time up to 5 minutes in the past means now; an earlier time is rejected. */
  scheduledAt?: Date | string;
  /** Files to attach, at most 100. The composed message may be up to 40 MiB. */
  attachments?: Attachment[];
  /** Message-ID of the message that this email replies to. Sets the headers In-Reply-To and References. */
  inReplyTo?: string;
  /** Message-IDs for the References header, oldest first. Rarely needed: `inReplyTo` sets this header too. */
  references?: string[];
  /** True: return immediately and send in the background. Recommended for many emails and for large attachments. */
  async?: boolean;
  /** Additional headers, by name. Headers that the service sets itself (identity, routing, DKIM, MIME) are rejected. */
  headers?: Record<string, string>;
  /**
   * Id of an earlier email (`em_`) or inbound message (`in_`) that this email replies to. The service sets the threading headers
   * from it. Cannot be combined with `inReplyTo`.
   */
  replyToEmailId?: string;
  /** Addresses for the Reply-To header. Unset: replies go to `from`. */
  replyToAddresses?: string[];
  /** Stop retrying at this time. Default 48 hours after the first attempt is due. */
  expiresAt?: Date | string;
  /**
   * True: deliver only over TLS with a certificate that a public authority or DANE verifies; otherwise retry, and bounce
   * when retries end. Default false: use TLS if the receiver offers it.
   */
  requireTls?: boolean;
  /**
   * Adds the header fields of one-click unsubscribe (RFC 8058), with a link that is valid for this recipient only, and does not send if
   * the recipient has unsubscribed from the topic. Allowed with exactly one recipient in `to`, `cc` and `bcc` together.
   */
  unsubscribe?: Unsubscribe;
}

/** What the recipient of an email can unsubscribe from. */
export interface Unsubscribe {
  /**
   * Name of the topic, for example `newsletter` or `weekly-digest`. Required. 1 to 64 characters: lower-case
   * letters, digits, `-`, `_` and `.`, with a letter or digit at both ends. The recipient sees it.
   */
  topic: string;
}

/** Response of SendEmail. */
export interface SendEmailResponse {
  /** Identifier of the email. Its events have it as `emailId`. */
  id: string;
  /** Status when the call returned. */
  status: EmailStatus;
  /** The Message-ID header of the email, with its angle brackets. */
  messageId: string;
  /** Human-readable status; for a failure, the reason. */
  statusMessage: string;
}

/** Request of StreamEvents. */
export interface StreamEventsRequest {
  /** Start after this cursor. `0` or empty: start with the oldest stored event. `latest`: only new events. */
  cursor?: string;
  /**
   * Only events of these types, for example `email.delivered`. Empty: all types. The cursors of other events are
   * skipped.
   */
  types?: string[];
  /** Only events of this email. */
  emailId?: string;
  /** False: end the stream after the newest stored event. Default true: keep the stream open for new events. */
  follow?: boolean;
  /**
   * Id of the event at `cursor`, if you have it. The server then checks that its log still has this event there, and answers
   * `out_of_range` if it does not. This also detects restores that left no other trace.
   */
  afterEventId?: string;
  /** Return `eventId` in messages without an event, so that `afterEventId` can be sent after any message. */
  withEventIds?: boolean;
}

/** One message of the StreamEvents stream. */
export interface StreamEventsResponse {
  /** The cursor to resume from after this message. */
  cursor: string;
  /** The event. Absent in the first message and in heartbeats, which have only the cursor. */
  event?: Event;
  /**
   * In messages without an event, if `withEventIds` is set: id of the event at the cursor, for `afterEventId`. Absent if the server
   * does not know it.
   */
  eventId?: string;
}

/** Request of GetEmail. */
export interface GetEmailRequest {
  /** Id of the email. Required. */
  id: string;
}

/** Response of GetEmail. */
export interface GetEmailResponse {
  /** The email. */
  email: Email;
}

/** Request of ListEmails. */
export interface ListEmailsRequest {
  /** Maximum number of emails per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. Keep the filters the same on every page. */
  pageToken?: string;
  /** Only emails with this status. Unset: any status. */
  status?: EmailStatus;
  /** Only emails with this recipient address. */
  recipient?: string;
  /** Only emails from this sending domain. */
  domain?: string;
  /** Only emails with this metadata key. */
  metadataKey?: string;
  /** Only emails whose metadata has this value under `metadataKey`. */
  metadataValue?: string;
  /** Only emails accepted at this time or later. */
  createdAfter?: Date | string;
  /** Only emails accepted before this time. */
  createdBefore?: Date | string;
  /**
   * Free text: an email id, a Message-ID, or words, all of which must match: a whole word of the subject, or at least three characters with
   * which a part of a recipient address begins. `smith` finds `jane.smith@example.com`, and so do `jane.s` and `example`.
   */
  search?: string;
  /** Only emails with one of these outcomes. Empty: any outcome. */
  outcomes?: EmailOutcome[];
  /** Only emails that this API key sent. */
  keyId?: string;
  /** Only emails with a recipient at this destination, the domain of the address. Subdomains do not count. */
  destination?: string;
  /** Only emails with recipients that are queued, delayed or in progress. With `destination`: recipients there. */
  open?: boolean;
  /**
   * Only emails with a recipient whose last attempt was at a mail server of this receiving site, as in `sites` of GetStats. The name of a
   * server stands for its site. An email is found by its site a few seconds after the attempt, when the statistics count it.
   */
  site?: string;
}

/** Response of ListEmails. */
export interface ListEmailsResponse {
  /**
   * The emails of this page, newest first, without `recipients` and `attachments`. With several filters a page may have fewer emails than
   * `pageSize`, or none, although more follow: a call reads a bounded number of emails.
   */
  data: Email[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of CountEmails. */
export interface CountEmailsRequest {
  /** Which emails to count. `pageSize` and `pageToken` have no effect. */
  filter?: ListEmailsRequest;
}

/** Response of CountEmails. */
export interface CountEmailsResponse {
  /** One entry for each outcome that at least one email has. */
  counts: OutcomeCount[];
  /** The number of emails that match the filters. */
  total: number;
  /** True when more emails match than `total`. */
  atLeast: boolean;
}

/** The number of emails with one outcome. */
export interface OutcomeCount {
  /** The outcome. */
  outcome: EmailOutcome;
  /** The number of emails with it. */
  emails: number;
  /** True when there are more. */
  atLeast: boolean;
}

/** Request of ExportEmails. */
export interface ExportEmailsRequest {
  /** Which emails to export. `pageSize` and `pageToken` have no effect. */
  filter?: ListEmailsRequest;
  /** The format of the file. */
  format?: ExportFormat;
}

/** One chunk of the file of ExportEmails. */
export interface ExportEmailsResponse {
  /** The next part of the file, UTF-8. */
  chunk: string;
  /** Number of emails in the file so far. */
  emails: number;
}

/** Request of CancelEmail. */
export interface CancelEmailRequest {
  /** Id of the email. Required. */
  id: string;
}

/** Response of CancelEmail. */
export interface CancelEmailResponse {
  /** The email after the cancellation. */
  email: Email;
  /** Number of recipients that were canceled. */
  canceledRecipients: number;
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of UpdateEmail. */
export interface UpdateEmailRequest {
  /** Id of the email. Required. */
  id: string;
  /**
   * The new time of the first attempt. Required. The rules of `scheduledAt` in SendEmail apply: up to 30 days ahead, and a time up to
   * 5 minutes in the past means now. It is at most 60 days after the email was accepted.
   */
  scheduledAt: Date | string;
}

/** Response of UpdateEmail. */
export interface UpdateEmailResponse {
  /** The email with its new time. */
  email: Email;
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of GetEmailContent. */
export interface GetEmailContentRequest {
  /** Id of the email. Required. */
  id: string;
}

/** Response of GetEmailContent. */
export interface GetEmailContentResponse {
  /** The complete message in RFC 5322 format, base64 in JSON. It has no DKIM signature, which is added at delivery. */
  raw: string;
  /**
   * Plain-text content. Empty if the email was submitted over SMTP as a message that is too complex to be taken apart, such as one with more than
   * 1,000 parts.
   */
  body: string;
  /** HTML content. Empty in the same case. */
  html: string;
}

/** Request of SendEmailBatch. */
export interface SendEmailBatchRequest {
  /** The emails to send, at most 500. */
  emails?: SendEmailRequest[];
}

/** Response of SendEmailBatch. */
export interface SendEmailBatchResponse {
  /** One result for each email, in the order of the request. */
  data: SendEmailBatchResult[];
  /** Number of emails that were accepted. */
  accepted: number;
  /** Number of emails that were rejected. */
  refused: number;
}

/** Result for one email of a batch. */
export interface SendEmailBatchResult {
  /** Identifier of the email. Empty when it was rejected. */
  id: string;
  /** `EMAIL_STATUS_QUEUED` when it was accepted, `EMAIL_STATUS_UNSPECIFIED` when it was rejected. */
  status: EmailStatus;
  /** The Message-ID header of the email. Empty when it was rejected. */
  messageId: string;
  /** Why the email was rejected. Absent when it was accepted. */
  error?: SendEmailError;
}

/** Why one email of a batch was rejected. */
export interface SendEmailError {
  /** The error code that SendEmail would return, for example `invalid_argument`. */
  code: string;
  /** What is wrong, and how to fix it. */
  message: string;
  /** The invalid fields. */
  violations: FieldViolation[];
}

/** Request of ListEvents. */
export interface ListEventsRequest {
  /**
   * List events after this cursor. `0` or empty: start with the oldest stored event. `latest`: return no events, only the
   * newest cursor.
   */
  cursor?: string;
  /** Maximum number of events per page. 0 or unset means 50; values above 500 are reduced to 500. */
  pageSize?: number;
  /** Only events of these types. Empty: all types. */
  types?: string[];
  /** Only events of this email. */
  emailId?: string;
  /** Id of the event at `cursor`, if you have it. See `afterEventId` of StreamEvents. */
  afterEventId?: string;
}

/** Response of ListEvents. */
export interface ListEventsResponse {
  /** The events of this page, in the order of their cursors. */
  data: EventEntry[];
  /** Pass it as `cursor` to get the next page, or to StreamEvents to continue from here. Always set. */
  nextCursor: string;
  /** True when there may be more stored events. */
  hasMore: boolean;
  /** Id of the event at `nextCursor`, for `afterEventId`. Empty if there is none. */
  nextEventId: string;
}

/** Status of an email. SENT and FAILED are final. */
export type EmailStatus =
  | "EMAIL_STATUS_UNSPECIFIED"
  | "EMAIL_STATUS_QUEUED"
  | "EMAIL_STATUS_PROCESSING"
  | "EMAIL_STATUS_SENT"
  | "EMAIL_STATUS_FAILED";

/** Status of one recipient of an email. */
export type RecipientStatus =
  | "RECIPIENT_STATUS_UNSPECIFIED"
  | "RECIPIENT_STATUS_QUEUED"
  | "RECIPIENT_STATUS_PROCESSING"
  | "RECIPIENT_STATUS_DELAYED"
  | "RECIPIENT_STATUS_DELIVERED"
  | "RECIPIENT_STATUS_SENT"
  | "RECIPIENT_STATUS_BOUNCED"
  | "RECIPIENT_STATUS_FAILED"
  | "RECIPIENT_STATUS_SUPPRESSED"
  | "RECIPIENT_STATUS_CANCELED";

/** What became of an email as a whole: the first value of this list that applies to at least one of its recipients. */
export type EmailOutcome =
  | "EMAIL_OUTCOME_UNSPECIFIED"
  | "EMAIL_OUTCOME_COMPLAINED"
  | "EMAIL_OUTCOME_BOUNCED"
  | "EMAIL_OUTCOME_FAILED"
  | "EMAIL_OUTCOME_SUPPRESSED"
  | "EMAIL_OUTCOME_DELAYED"
  | "EMAIL_OUTCOME_QUEUED"
  | "EMAIL_OUTCOME_CANCELED"
  | "EMAIL_OUTCOME_SENT"
  | "EMAIL_OUTCOME_DELIVERED";

/** The format of an exported file. */
export type ExportFormat =
  | "EXPORT_FORMAT_UNSPECIFIED"
  | "EXPORT_FORMAT_CSV"
  | "EXPORT_FORMAT_JSON_LINES";
