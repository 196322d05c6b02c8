// Generated from the contract in proto/ by "npm run generate": the types of v1/webhook.proto. Do not edit.
/** A URL that events are posted to. */
export interface Webhook {
  /** Identifier of the webhook, `wh_` and a UUID. */
  id: string;
  /** The URL. */
  url: string;
  /** The event types that are posted. Empty: all types, including types that later versions add. */
  eventTypes: string[];
  /** Description of the webhook. */
  description: string;
  /** Whether it is enabled. */
  status: WebhookStatus;
  /** Why it is disabled. Empty when it is enabled. */
  disabledReason: string;
  /** When it was disabled. Absent when it is enabled. */
  disabledAt?: string;
  /** Start of the uninterrupted failures. Absent when the last delivery succeeded. */
  failingSince?: string;
  /** Until when deliveries are also signed with the previous secret. Absent when there is only one secret. */
  previousSecretExpiresAt?: string;
  /** When it was created. */
  createdAt: string;
  /** When it was last changed. */
  updatedAt: string;
  /** When an attempt last succeeded, at most a minute too early. Absent when there was none. Tests do not count. */
  lastSuccessAt?: string;
  /** When an attempt last failed, at most a minute too early. Absent when there was none. Tests do not count. */
  lastFailureAt?: string;
}

/** The delivery of one event to one webhook, with the result of the last attempt. */
export interface WebhookDelivery {
  /** Identifier of the delivery, `whd_` and a UUID. */
  id: string;
  /** Id of the webhook. */
  webhookId: string;
  /** Id of the event, sent in the header `webhook-id`. */
  eventId: string;
  /** Type of the event. */
  eventType: string;
  /** Cursor of the event. Empty for a test delivery. */
  cursor: string;
  /** Id of the email that the event is about. Empty if there is none. */
  emailId: string;
  /** Status of the delivery. */
  status: WebhookDeliveryStatus;
  /** Number of attempts so far. */
  attempts: number;
  /** The request body, as JSON text. Empty after the event's retention period. */
  payload: string;
  /** The HTTP status of the last response. 0 when there was none. */
  responseStatus: number;
  /** Headers and body of the last response, truncated to 4 KiB. */
  responseHead: string;
  /** Duration of the last attempt in milliseconds. */
  durationMs: number;
  /** Error of the last attempt. Empty after a success. */
  error: string;
  /** When the last attempt ended. Absent before the first. */
  lastAttemptAt?: string;
  /** When the next attempt is due. Absent when there is none. */
  nextAttemptAt?: string;
  /** When it was delivered or failed permanently. Absent before. */
  settledAt?: string;
  /** When the delivery was created. */
  createdAt: string;
}

/** One attempt to post an event to an endpoint. */
export interface WebhookAttempt {
  /** 1 for the first attempt of the delivery. */
  number: number;
  /** When the attempt ended. */
  attemptedAt: string;
  /** Duration in milliseconds. */
  durationMs: number;
  /** The URL that the event was posted to. The webhook may have another one now. */
  url: string;
  /** The headers of the request with the signature, one per line. Empty when no request was made. */
  requestHeaders: string;
  /** The HTTP status of the response. 0 when there was none. */
  responseStatus: number;
  /** Status line and headers of the response, one per line, truncated to 4 KiB. */
  responseHeaders: string;
  /** The first 4 KiB of the response body. */
  responseBody: string;
  /** Why the attempt failed. Empty after a success. */
  error: string;
}

/** Request of CreateWebhook. */
export interface CreateWebhookRequest {
  /** The URL to post to, `https` only. Required, at most 2,048 characters. */
  url: string;
  /** The event types to post, for example `email.bounced`. Empty or `["*"]`: all types. */
  eventTypes?: string[];
  /** Description of the webhook, up to 500 characters. */
  description?: string;
}

/** Response of CreateWebhook. */
export interface CreateWebhookResponse {
  /** The new webhook. */
  webhook: Webhook;
  /** The signing secret, `whsec_` and base64. It is returned only in this response: store it safely. */
  signingSecret: string;
}

/** Request of GetWebhook. */
export interface GetWebhookRequest {
  /** Id of the webhook. Required. */
  id: string;
}

/** Response of GetWebhook. */
export interface GetWebhookResponse {
  /** The webhook. */
  webhook: Webhook;
}

/** Request of ListWebhooks. */
export interface ListWebhooksRequest {
  /** Maximum number of webhooks per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ListWebhooks. */
export interface ListWebhooksResponse {
  /** The webhooks of this page, newest first. */
  data: Webhook[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of UpdateWebhook. */
export interface UpdateWebhookRequest {
  /** Id of the webhook. Required. */
  id: string;
  /** The new URL. Not set: unchanged. */
  url?: string;
  /** The new event types. Empty: unchanged. `["*"]`: all types. */
  eventTypes?: string[];
  /** The new description. Not set: unchanged. */
  description?: string;
  /** True enables the webhook, false disables it. Not set: unchanged. */
  enabled?: boolean;
}

/** Response of UpdateWebhook. */
export interface UpdateWebhookResponse {
  /** The webhook after the change. */
  webhook: Webhook;
}

/** Request of DeleteWebhook. */
export interface DeleteWebhookRequest {
  /** Id of the webhook. Required. */
  id: string;
}

/** Response of DeleteWebhook. */
export interface DeleteWebhookResponse {
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of RotateWebhookSecret. */
export interface RotateWebhookSecretRequest {
  /** Id of the webhook. Required. */
  id: string;
}

/** Response of RotateWebhookSecret. */
export interface RotateWebhookSecretResponse {
  /** The webhook. */
  webhook: Webhook;
  /** The new signing secret. It is returned only in this response: store it safely. */
  signingSecret: string;
}

/** Request of ListWebhookDeliveries. */
export interface ListWebhookDeliveriesRequest {
  /** Id of the webhook. Required. */
  webhookId: string;
  /** Maximum number of deliveries per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. Keep the filters the same on every page. */
  pageToken?: string;
  /** Only deliveries with this status. Unset: any status. */
  status?: WebhookDeliveryStatus;
  /** Only deliveries of this event. */
  eventId?: string;
}

/** Response of ListWebhookDeliveries. */
export interface ListWebhookDeliveriesResponse {
  /** The deliveries of this page, newest first. */
  data: WebhookDelivery[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of ListWebhookAttempts. */
export interface ListWebhookAttemptsRequest {
  /** Id of the webhook. Required. */
  webhookId: string;
  /** Id of the delivery. Required. */
  deliveryId: string;
  /** Maximum number of attempts per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ListWebhookAttempts. */
export interface ListWebhookAttemptsResponse {
  /** The attempts of this page, newest first. */
  data: WebhookAttempt[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of RedeliverWebhook. Set either `deliveryId`, or `fromCursor` and `toCursor`. */
export interface RedeliverWebhookRequest {
  /** Id of the webhook. Required. */
  webhookId: string;
  /** Id of the delivery to repeat. */
  deliveryId?: string;
  /** Cursor of the first event of the range. */
  fromCursor?: string;
  /** Cursor of the last event of the range. */
  toCursor?: string;
}

/** Response of RedeliverWebhook. */
export interface RedeliverWebhookResponse {
  /** Number of deliveries that were queued. */
  scheduled: number;
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of SendTestWebhook. */
export interface SendTestWebhookRequest {
  /** Id of the webhook. Required. */
  id: string;
  /** Type of the sample event. `email.delivered` when unset. */
  eventType?: string;
}

/** Response of SendTestWebhook. */
export interface SendTestWebhookResponse {
  /** The delivery with its one attempt. */
  delivery: WebhookDelivery;
}

/** Status of a webhook. */
export type WebhookStatus =
  | "WEBHOOK_STATUS_UNSPECIFIED"
  | "WEBHOOK_STATUS_ENABLED"
  | "WEBHOOK_STATUS_DISABLED";

/** Status of the delivery of one event to one webhook. */
export type WebhookDeliveryStatus =
  | "WEBHOOK_DELIVERY_STATUS_UNSPECIFIED"
  | "WEBHOOK_DELIVERY_STATUS_QUEUED"
  | "WEBHOOK_DELIVERY_STATUS_DELIVERED"
  | "WEBHOOK_DELIVERY_STATUS_FAILED";
