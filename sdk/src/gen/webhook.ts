// Generated from the contract in proto/ by "npm run generate": the types of v1/webhook.proto. Not to be edited.
/** An address that events are posted to. */
export interface Webhook {
  /** Identifier of the webhook, `wh_` and a UUID. */
  id: string;
  /** The address. */
  url: string;
  /** The event types that are posted. Empty: all, those added later included. */
  eventTypes: string[];
  /** A remark for people. */
  description: string;
  /** Whether it is served. */
  status: WebhookStatus;
  /** Why it is disabled. Empty when it is enabled. */
  disabledReason: string;
  /** When it was disabled. Absent when it is enabled. */
  disabledAt?: string;
  /** Since when every delivery has failed. Absent when the last one succeeded. */
  failingSince?: string;
  /** Until when the secret before the last rotation signs too. Absent when there is only one secret. */
  previousSecretExpiresAt?: string;
  /** When it was created. */
  createdAt: string;
  /** When it was last changed. */
  updatedAt: string;
}

/** The delivery of one event to one webhook, with what the last attempt saw. */
export interface WebhookDelivery {
  /** Identifier of the delivery, `whd_` and a UUID. */
  id: string;
  /** Id of the webhook. */
  webhookId: string;
  /** Id of the event; the header `webhook-id` carries it. */
  eventId: string;
  /** Type of the event. */
  eventType: string;
  /** Cursor of the event. Empty for a test delivery. */
  cursor: string;
  /** Id of the email that the event is about. Empty where there is none. */
  emailId: string;
  /** How far it has come. */
  status: WebhookDeliveryStatus;
  /** Number of attempts so far. */
  attempts: number;
  /** The body that is posted, as JSON text. Empty once the event is past the time it is kept. */
  payload: string;
  /** The HTTP status of the last answer. 0 when there was none. */
  responseStatus: number;
  /** The beginning of the last answer, headers and body, cut at 4 KiB. */
  responseHead: string;
  /** How long the last attempt took, in milliseconds. */
  durationMs: number;
  /** What went wrong in the last attempt. Empty after success. */
  error: string;
  /** When the last attempt ended. Absent before the first. */
  lastAttemptAt?: string;
  /** When the next attempt is due. Absent when there is none. */
  nextAttemptAt?: string;
  /** When it was delivered or given up. Absent before. */
  settledAt?: string;
  /** When the delivery was created. */
  createdAt: string;
}

/** Request of CreateWebhook. */
export interface CreateWebhookRequest {
  /** The address to post to, `https` only. Required, at most 2,048 characters. */
  url: string;
  /** The event types to post, for example `email.bounced`. Empty or `["*"]`: all. */
  eventTypes?: string[];
  /** A remark for people, up to 500 characters. */
  description?: string;
}

/** Response of CreateWebhook. */
export interface CreateWebhookResponse {
  /** The new webhook. */
  webhook: Webhook;
  /** The signing secret, `whsec_` and base64. It is shown only here: keep it. */
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
  /** Webhooks in a page. 0 or unset is 20; more than 100 is served as 100. */
  pageSize?: number;
  /** `nextPageToken` of the page before. Empty: the first page. */
  pageToken?: string;
}

/** Response of ListWebhooks. */
export interface ListWebhooksResponse {
  /** The webhooks of this page, newest first. */
  data: Webhook[];
  /** Pass as `pageToken` for the next page. Empty: this is the last page. */
  nextPageToken: string;
}

/** Request of UpdateWebhook. */
export interface UpdateWebhookRequest {
  /** Id of the webhook. Required. */
  id: string;
  /** The new address. Left out: unchanged. */
  url?: string;
  /** The new event types. Empty: unchanged. `["*"]`: all. */
  eventTypes?: string[];
  /** The new remark. Left out: unchanged. */
  description?: string;
  /** True enables, false disables. Left out: unchanged. */
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
  /** What was done. */
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
  /** The new signing secret. It is shown only here: keep it. */
  signingSecret: string;
}

/** Request of ListWebhookDeliveries. */
export interface ListWebhookDeliveriesRequest {
  /** Id of the webhook. Required. */
  webhookId: string;
  /** Deliveries in a page. 0 or unset is 20; more than 100 is served as 100. */
  pageSize?: number;
  /** `nextPageToken` of the page before. Empty: the first page. Keep the filters the same. */
  pageToken?: string;
  /** Only deliveries with this status. Unset: any. */
  status?: WebhookDeliveryStatus;
  /** Only deliveries of this event. */
  eventId?: string;
}

/** Response of ListWebhookDeliveries. */
export interface ListWebhookDeliveriesResponse {
  /** The deliveries of this page, newest first. */
  data: WebhookDelivery[];
  /** Pass as `pageToken` for the next page. Empty: this is the last page. */
  nextPageToken: string;
}

/** Request of RedeliverWebhook. Give either `deliveryId`, or `fromCursor` and `toCursor`. */
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
  /** Number of deliveries that were put in the queue. */
  scheduled: number;
  /** What was done. */
  message: string;
}

/** Request of SendTestWebhook. */
export interface SendTestWebhookRequest {
  /** Id of the webhook. Required. */
  id: string;
  /** Type of the made-up event. `email.delivered` when unset. */
  eventType?: string;
}

/** Response of SendTestWebhook. */
export interface SendTestWebhookResponse {
  /** The delivery with its one attempt. */
  delivery: WebhookDelivery;
}

/** Whether a webhook is served. */
export type WebhookStatus =
  | "WEBHOOK_STATUS_UNSPECIFIED"
  | "WEBHOOK_STATUS_ENABLED"
  | "WEBHOOK_STATUS_DISABLED";

/** How far the delivery of one event to one webhook has come. */
export type WebhookDeliveryStatus =
  | "WEBHOOK_DELIVERY_STATUS_UNSPECIFIED"
  | "WEBHOOK_DELIVERY_STATUS_QUEUED"
  | "WEBHOOK_DELIVERY_STATUS_DELIVERED"
  | "WEBHOOK_DELIVERY_STATUS_FAILED";
