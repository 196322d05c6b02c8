/** posthorn.webhooks: manage webhooks and their deliveries, and receive webhooks in a user's server. */
import type { Call } from "./call.ts";
import type {
  CreateWebhookRequest,
  CreateWebhookResponse,
  DeleteWebhookResponse,
  ListWebhookAttemptsRequest,
  ListWebhookAttemptsResponse,
  ListWebhookDeliveriesRequest,
  ListWebhookDeliveriesResponse,
  ListWebhooksRequest,
  ListWebhooksResponse,
  RedeliverWebhookRequest,
  RedeliverWebhookResponse,
  RotateWebhookSecretResponse,
  UpdateWebhookRequest,
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
} from "./gen/webhook.ts";
import type { EventType } from "./handlers.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";
import { fetchWebhookHandler, nodeWebhookHandler } from "./webhook-handler.ts";
import { signTestPayload, verifyWebhook } from "./webhook-signature.ts";

export class Webhooks {
  readonly #call: Call;

  /** Verifies a received webhook and returns its event. */
  readonly verify = verifyWebhook;
  /** Creates an endpoint for servers that use Request and Response. */
  readonly fetchHandler = fetchWebhookHandler;
  /** Creates an endpoint for node:http and Express. */
  readonly nodeHandler = nodeWebhookHandler;
  /** Signs an event as Posthorn does, for your tests. */
  readonly signTestPayload = signTestPayload;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Creates a webhook. Only this response contains the signing secret. */
  async create(webhook: CreateWebhookRequest, options?: CallOptions): Promise<CreateWebhookResponse> {
    return await this.#call("WebhookService/CreateWebhook", webhook, options);
  }

  /** Returns one webhook. */
  async get(id: string, options?: CallOptions): Promise<Webhook> {
    return (await this.#call("WebhookService/GetWebhook", { id }, options)).webhook;
  }

  /** Lists the webhooks, newest first. */
  list(request: ListWebhooksRequest = {}, options?: CallOptions): List<Webhook, ListWebhooksResponse> {
    return listByToken(request, (page) => this.#call("WebhookService/ListWebhooks", page, options));
  }

  /** Changes the given fields and leaves the others unchanged. */
  async update(id: string, change: Omit<UpdateWebhookRequest, "id">, options?: CallOptions): Promise<Webhook> {
    return (await this.#call("WebhookService/UpdateWebhook", { ...change, id }, options)).webhook;
  }

  /** Deletes a webhook and its waiting deliveries. */
  async delete(id: string, options?: CallOptions): Promise<DeleteWebhookResponse> {
    return await this.#call("WebhookService/DeleteWebhook", { id }, options);
  }

  /** Replaces the signing secret. For 24 hours deliveries are signed with the old secret too. */
  async rotateSecret(id: string, options?: CallOptions): Promise<RotateWebhookSecretResponse> {
    return await this.#call("WebhookService/RotateWebhookSecret", { id }, options);
  }

  /** Lists the deliveries of a webhook, newest first, each with its last attempt. */
  deliveries(
    webhookId: string,
    filter: Omit<ListWebhookDeliveriesRequest, "webhookId"> = {},
    options?: CallOptions,
  ): List<WebhookDelivery, ListWebhookDeliveriesResponse> {
    return listByToken(filter, (page) =>
      this.#call("WebhookService/ListWebhookDeliveries", { ...page, webhookId }, options),
    );
  }

  /** Lists the attempts of one delivery, newest first. */
  attempts(
    webhookId: string,
    deliveryId: string,
    page: Pick<ListWebhookAttemptsRequest, "pageSize" | "pageToken"> = {},
    options?: CallOptions,
  ): List<WebhookAttempt, ListWebhookAttemptsResponse> {
    return listByToken(page, (page) =>
      this.#call("WebhookService/ListWebhookAttempts", { ...page, webhookId, deliveryId }, options),
    );
  }

  /** Posts one delivery again, or every event of a range of cursors. */
  async redeliver(
    webhookId: string,
    what: Omit<RedeliverWebhookRequest, "webhookId">,
    options?: CallOptions,
  ): Promise<RedeliverWebhookResponse> {
    return await this.#call("WebhookService/RedeliverWebhook", { ...what, webhookId }, options);
  }

  /** Posts one sample event now and returns the endpoint's response. */
  async sendTest(id: string, eventType?: EventType, options?: CallOptions): Promise<WebhookDelivery> {
    return (await this.#call("WebhookService/SendTestWebhook", { id, eventType }, options)).delivery;
  }
}
