/**
 * The public API of the package `posthorn`: the client, its types, the error, and the webhook helpers.
 * The client (client.ts) has one object per noun (emails.ts, domains.ts, events.ts, …). Start with client.ts, then call.ts for
 * requests with one response and stream.ts for event streams.
 */
export type { Address, AddressObject } from "./address.ts";
export type { AnyAttachment, AttachmentFile, AttachmentInput, AttachmentUrl } from "./attachment.ts";
export { Posthorn } from "./client.ts";
export { type CursorStore, memoryCursorStore } from "./cursor-store.ts";
export type { WaitOptions } from "./domains.ts";
export type { SendEmail } from "./email-request.ts";
export type { EmailContent, SendOptions } from "./emails.ts";
export { type ErrorCode, errorCodes, PosthornError } from "./error.ts";
export type { LogReset, StreamedEvent, StreamOptions } from "./events.ts";
export type * from "./gen/audit.ts";
export type * from "./gen/domain.ts";
export type * from "./gen/email.ts";
export type { FieldViolation } from "./gen/error-details.ts";
export type * from "./gen/event.ts";
export type * from "./gen/inbound.ts";
export type * from "./gen/key.ts";
export type * from "./gen/options.ts";
export type * from "./gen/queue.ts";
export type * from "./gen/report.ts";
export type * from "./gen/stats.ts";
export type * from "./gen/suppression.ts";
export type * from "./gen/webhook.ts";
export type * from "./gen/workspace.ts";
export type { EventHandlers, EventOf, EventType } from "./handlers.ts";
export type { CreateKey, KeyScopeName, UpdateKey } from "./keys.ts";
export type { List } from "./list.ts";
export type { ReactElement } from "./react.ts";
export type { CallOptions, PosthornOptions } from "./settings.ts";
export type { UpdateStatsSettings } from "./stats.ts";
export {
  fetchWebhookHandler,
  type NodeRequest,
  type NodeResponse,
  nodeWebhookHandler,
  type WebhookHandlerOptions,
} from "./webhook-handler.ts";
export {
  type HeadersLike,
  type SignedPayload,
  signTestPayload,
  type VerifyOptions,
  verifyWebhook,
} from "./webhook-signature.ts";
