// Generated from the contract in proto/ by "npm run generate": the types of v1/email.proto. Not to be edited.
import type { Event, EventEntry } from "./event.ts";
import type { FieldViolation } from "./error-details.ts";

/** A file that goes with an email. */
export interface Attachment {
  /** Content of the file in base64. Required. */
  base64Content: string;
  /** Name of the file as the reader sees it. Required, any script, no line breaks. */
  filename: string;
  /** MIME type, for example `application/pdf`. `application/octet-stream` when unset. */
  contentType?: string;
  /** Content id of an inline image: with `logo` here, the HTML shows it by `<img src="cid:logo">`. Unset: an ordinary attachment. */
  contentId?: string;
}

/** A file of a stored email, without its content. */
export interface AttachmentInfo {
  /** Name of the file. */
  filename: string;
  /** MIME type. */
  contentType: string;
  /** Size of the decoded file in bytes. */
  sizeBytes: number;
  /** Content id of an inline image. Empty for an ordinary attachment. */
  contentId: string;
}

/** An email as it is stored. */
export interface Email {
  /** Identifier of the email, `em_` and a UUID. */
  id: string;
  /** Current status. */
  status: EmailStatus;
  /** The Message-ID header, with its angle brackets. */
  messageId: string;
  /** The status in words; for a failure, the reason. */
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
  /** The metadata given at sending. */
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
  /** True when it was sent with a test key: nothing left the machine and its outcomes are simulated. */
  test: boolean;
  /** The state of each recipient, each address once. Filled by GetEmail, empty in lists. */
  recipients: EmailRecipient[];
  /** True while the content is kept, so that GetEmailContent can return it. */
  hasContent: boolean;
  /** Size of the content as given (texts and decoded attachments) in bytes. */
  sizeBytes: number;
  /** The attachments without their content. Filled by GetEmail, empty in lists. */
  attachments: AttachmentInfo[];
}

/** The state of one recipient of an email. */
export interface EmailRecipient {
  /** The address. */
  address: string;
  /** How far it has come. */
  status: RecipientStatus;
  /** Number of attempts so far. */
  attempts: number;
  /** The receiver's last reply in its own words, or what went wrong before there was one. */
  lastReply: string;
  /** When the last attempt ended. Absent before the first. */
  lastAttemptAt?: string;
  /** When the next attempt is due. Absent when there is none. */
  nextAttemptAt?: string;
  /** Host name of the mail server that was last spoken to. */
  remoteMx: string;
  /** When the final outcome was reached. Absent before. */
  settledAt?: string;
}

/** Request of SendEmail. */
export interface SendEmailRequest {
  /** Sender, `a@example.com` or `Name <a@example.com>`. Required. Its domain must be one of this workspace's, exactly, and able to send. */
  from: string;
  /** Primary recipients. Required, at least one. At most 50 recipients in `to`, `cc` and `bcc` together; an address given twice is delivered once. */
  to: string[];
  /** Carbon-copy recipients. */
  cc?: string[];
  /** Blind-copy recipients. They appear in no header. */
  bcc?: string[];
  /** Subject line. Required, may be empty. At most 998 characters, no line breaks. */
  subject: string;
  /** Plain-text content. Always recommended: it helps mail to be delivered. An email needs `body`, `html` or an attachment; an empty text counts as none. */
  body?: string;
  /** HTML content. */
  html?: string;
  /** Your own data, returned in events and webhooks. At most 50 entries; keys up to 64 and values up to 1,024 characters. */
  metadata?: Record<string, string>;
  /** Send at this time, up to 30 days ahead. A time up to 5 minutes in the past means now; an older one is refused. */
  scheduledAt?: Date | string;
  /** Files to attach, at most 100. The composed message may have 40 MiB. */
  attachments?: Attachment[];
  /** Message-ID of the email that this one answers. Sets the headers In-Reply-To and References. */
  inReplyTo?: string;
  /** Message-IDs for the References header, oldest first. Rarely needed: `inReplyTo` sets it by itself. */
  references?: string[];
  /** True: answer at once and send in the background. Recommended for many emails and for large attachments. */
  async?: boolean;
  /** More headers, by name. Headers that the service sets itself (identity, routing, DKIM, MIME) are refused. */
  headers?: Record<string, string>;
  /** Id of an earlier email (`em_`) or inbound message (`in_`) that this one answers; threading headers are set from it. Not together with `inReplyTo`. */
  replyToEmailId?: string;
  /** Addresses for the Reply-To header. Unset: answers go to `from`. */
  replyToAddresses?: string[];
  /** Stop retrying at this time. Default 48 hours after the first attempt is due. */
  expiresAt?: Date | string;
  /** True: deliver only over TLS with a verified certificate, otherwise retry and finally bounce. Default false: TLS where the receiver offers it. */
  requireTls?: boolean;
}

/** Response of SendEmail. */
export interface SendEmailResponse {
  /** Identifier of the email, by which its events are found. */
  id: string;
  /** Status at the time of the answer. */
  status: EmailStatus;
  /** The Message-ID header of the email, with its angle brackets. */
  messageId: string;
  /** The status in words; for a failure, the reason. */
  statusMessage: string;
}

/** Request of StreamEvents. */
export interface StreamEventsRequest {
  /** Start after this cursor. `0` or empty: with the oldest kept event. `latest`: only what happens from now on. */
  cursor?: string;
  /** Only events of these types, for example `email.delivered`. Empty: all. Cursors of other events are skipped. */
  types?: string[];
  /** Only events of this email. */
  emailId?: string;
  /** False: end the stream after the newest stored event. Default true: stay open and wait for more. */
  follow?: boolean;
}

/** One message of the stream of StreamEvents. */
export interface StreamEventsResponse {
  /** The cursor to resume from after this message. */
  cursor: string;
  /** The event. Absent in the first message and in heartbeats, which carry the cursor alone. */
  event?: Event;
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
  /** Emails in a page. 0 or unset is 20; more than 100 is served as 100. */
  pageSize?: number;
  /** `nextPageToken` of the page before. Empty: the first page. Keep the filters the same. */
  pageToken?: string;
  /** Only emails with this status. Unset: any. */
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
  /** Free text: an email id, a Message-ID, part of a recipient address, or words of the subject. */
  search?: string;
}

/** Response of ListEmails. */
export interface ListEmailsResponse {
  /** The emails of this page, newest first, without `recipients` and `attachments`. */
  data: Email[];
  /** Pass as `pageToken` for the next page. Empty: this is the last page. */
  nextPageToken: string;
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
  /** What was done. */
  message: string;
}

/** Request of GetEmailContent. */
export interface GetEmailContentRequest {
  /** Id of the email. Required. */
  id: string;
}

/** Response of GetEmailContent. */
export interface GetEmailContentResponse {
  /** The whole message in the format of RFC 5322, base64 in JSON. The DKIM signature is added at delivery and is not part of it. */
  raw: string;
  /** Plain-text content. */
  body: string;
  /** HTML content. */
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
  /** Number of emails that were refused. */
  refused: number;
}

/** What became of one email of a batch. */
export interface SendEmailBatchResult {
  /** Identifier of the email. Empty when it was refused. */
  id: string;
  /** `EMAIL_STATUS_QUEUED` when it was accepted, `EMAIL_STATUS_UNSPECIFIED` when it was refused. */
  status: EmailStatus;
  /** The Message-ID header of the email. Empty when it was refused. */
  messageId: string;
  /** Why it was refused. Absent when it was accepted. */
  error?: SendEmailError;
}

/** Why one email of a batch was refused. */
export interface SendEmailError {
  /** The error code that SendEmail would have answered, for example `invalid_argument`. */
  code: string;
  /** What is wrong and what to do. */
  message: string;
  /** The fields at fault. */
  violations: FieldViolation[];
}

/** Request of ListEvents. */
export interface ListEventsRequest {
  /** List after this cursor. `0` or empty: from the oldest kept event. `latest`: nothing but the newest cursor. */
  cursor?: string;
  /** Events in a page. 0 or unset is 50; more than 500 is served as 500. */
  pageSize?: number;
  /** Only events of these types. Empty: all. */
  types?: string[];
  /** Only events of this email. */
  emailId?: string;
}

/** Response of ListEvents. */
export interface ListEventsResponse {
  /** The events of this page, in the order of their cursors. */
  data: EventEntry[];
  /** Pass as `cursor` for the next page, or to StreamEvents to go on from here. Always set. */
  nextCursor: string;
  /** True when more stored events may follow. */
  hasMore: boolean;
}

/** How far an email has come. SENT and FAILED are final. */
export type EmailStatus =
  | "EMAIL_STATUS_UNSPECIFIED"
  | "EMAIL_STATUS_QUEUED"
  | "EMAIL_STATUS_PROCESSING"
  | "EMAIL_STATUS_SENT"
  | "EMAIL_STATUS_FAILED";

/** How far one recipient of an email has come. */
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
