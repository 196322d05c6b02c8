// Generated from the contract in proto/ by "npm run generate": the types of v1/inbound.proto. Do not edit.
import type { InboundAttachment, Verdicts } from "./event.ts";

/** An inbound message, without its text and HTML. */
export interface InboundMessage {
  /** Identifier of the message, `in_` and a UUID. */
  id: string;
  /** Sender, from the From header. */
  from: string;
  /** The addresses of this workspace that it was sent to (from the SMTP envelope). */
  to: string[];
  /** Subject line. */
  subject: string;
  /** Message-ID header. Empty when the message has none. */
  messageId: string;
  /** Message-ID of the message that it refers to. Empty when there is none. */
  inReplyTo: string;
  /** Id of the email of this workspace that it replies to. Empty if there is none. */
  parentEmailId: string;
  /** True for automatic mail, such as an out-of-office reply (RFC 3834). */
  autoSubmitted: boolean;
  /** Results of SPF, DKIM, DMARC and ARC. */
  verdicts: Verdicts;
  /** The attachments, without their content. */
  attachments: InboundAttachment[];
  /** Size of the whole message in bytes. */
  sizeBytes: number;
  /** When it arrived. */
  receivedAt: string;
  /** The receiving domain. */
  domain: string;
  /** Address for answers, from the Reply-To header. Empty if the message has none, or if it is the sender. */
  replyTo: string;
}

/** Request of ListInbound. */
export interface ListInboundRequest {
  /** Maximum number of messages per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. Keep the filters the same on every page. */
  pageToken?: string;
  /** Only messages to this receiving domain. */
  domain?: string;
  /** Only messages to this address. */
  recipient?: string;
  /** Only replies to this email. */
  parentEmailId?: string;
  /** Only messages that arrived at this time or later. */
  receivedAfter?: Date | string;
  /** Only messages that arrived before this time. */
  receivedBefore?: Date | string;
  /** Free text: a message id, part of an address, or words of the subject. */
  search?: string;
}

/** Response of ListInbound. */
export interface ListInboundResponse {
  /** The messages of this page, newest first. */
  data: InboundMessage[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of GetInbound. */
export interface GetInboundRequest {
  /** Id of the inbound message. Required. */
  id: string;
}

/** Response of GetInbound. */
export interface GetInboundResponse {
  /** The message. */
  inbound: InboundMessage;
  /** Plain text, including quoted text. */
  body: string;
  /** Only the new text, without quoted text and its attribution line. */
  newText: string;
  /** HTML. Untrusted: sanitize it before display. */
  html: string;
}

/** Request of GetInboundContent. */
export interface GetInboundContentRequest {
  /** Id of the inbound message. Required. */
  id: string;
}

/** Response of GetInboundContent. */
export interface GetInboundContentResponse {
  /** The complete message in RFC 5322 format, base64 in JSON. */
  raw: string;
}

/** Request of GetInboundAttachment. */
export interface GetInboundAttachmentRequest {
  /** Id of the inbound message. Required. */
  id: string;
  /** Id of the attachment. Required. */
  attachmentId: string;
}

/** Response of GetInboundAttachment. */
export interface GetInboundAttachmentResponse {
  /** The attachment. */
  attachment: InboundAttachment;
  /** Its content, base64 in JSON. */
  content: string;
}

/** Reports about one email that changed nothing. */
export interface UnattributedReport {
  /** Id of the email. */
  emailId: string;
  /** What the reports are. */
  kind: UnattributedReportKind;
  /** Why they changed nothing. */
  reason: UnattributedReportReason;
  /** The reason in a sentence. */
  explanation: string;
  /** The address that the newest report names. It may be forged. Empty when the report names none. */
  namedRecipient: string;
  /** Number of reports. */
  reports: number;
  /** When the first of them arrived. */
  firstReceivedAt: string;
  /** When the newest of them arrived. */
  lastReceivedAt: string;
}

/** Request of ListUnattributedReports. */
export interface ListUnattributedReportsRequest {
  /** Maximum number of entries per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ListUnattributedReports. */
export interface ListUnattributedReportsResponse {
  /** The entries of this page, newest first. */
  data: UnattributedReport[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** What a report is. */
export type UnattributedReportKind =
  | "UNATTRIBUTED_REPORT_KIND_UNSPECIFIED"
  | "UNATTRIBUTED_REPORT_KIND_BOUNCE"
  | "UNATTRIBUTED_REPORT_KIND_COMPLAINT";

/** Why a report is about no recipient. */
export type UnattributedReportReason =
  | "UNATTRIBUTED_REPORT_REASON_UNSPECIFIED"
  | "UNATTRIBUTED_REPORT_REASON_SHARED_PATH"
  | "UNATTRIBUTED_REPORT_REASON_EXPIRED"
  | "UNATTRIBUTED_REPORT_REASON_NO_TOKEN"
  | "UNATTRIBUTED_REPORT_REASON_INVALID_TOKEN";
