// Generated from the contract in proto/ by "npm run generate": the types of v1/inbound.proto. Not to be edited.
import type { InboundAttachment, Verdicts } from "./event.ts";

/** An inbound message without its texts. */
export interface InboundMessage {
  /** Identifier of the message, `in_` and a UUID. */
  id: string;
  /** Sender, from the From header. */
  from: string;
  /** The addresses of this workspace that it was sent to (the SMTP envelope). */
  to: string[];
  /** Subject line. */
  subject: string;
  /** Message-ID header. Empty when the message has none. */
  messageId: string;
  /** Message-ID that it refers to. Empty when it refers to none. */
  inReplyTo: string;
  /** Id of the email of this workspace that it answers. Empty when it answers none. */
  parentEmailId: string;
  /** True for automatic mail, such as an out-of-office answer (RFC 3834). */
  autoSubmitted: boolean;
  /** Who it can be trusted to come from. */
  verdicts: Verdicts;
  /** The files that came with it, without their content. */
  attachments: InboundAttachment[];
  /** Size of the whole message in bytes. */
  sizeBytes: number;
  /** When it arrived. */
  receivedAt: string;
  /** The receiving domain. */
  domain: string;
}

/** Request of ListInbound. */
export interface ListInboundRequest {
  /** Messages in a page. 0 or unset is 20; more than 100 is served as 100. */
  pageSize?: number;
  /** `nextPageToken` of the page before. Empty: the first page. Keep the filters the same. */
  pageToken?: string;
  /** Only messages to this receiving domain. */
  domain?: string;
  /** Only messages to this address. */
  recipient?: string;
  /** Only messages that answer this email. */
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
  /** Pass as `pageToken` for the next page. Empty: this is the last page. */
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
  /** Plain text, quoted text included. */
  body: string;
  /** The new text alone: quoted text and the line above it are taken off. */
  newText: string;
  /** HTML. Hostile until sanitised. */
  html: string;
}

/** Request of GetInboundContent. */
export interface GetInboundContentRequest {
  /** Id of the inbound message. Required. */
  id: string;
}

/** Response of GetInboundContent. */
export interface GetInboundContentResponse {
  /** The whole message in the format of RFC 5322, base64 in JSON. */
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
