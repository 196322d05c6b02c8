/** posthorn.webhooks: where events are posted to, what became of each delivery, and the receiving side. */
import type { Call } from "./call.ts";
import type {
  CreateWebhookRequest,
  CreateWebhookResponse,
  DeleteWebhookResponse,
  ListWebhookDeliveriesRequest,
  ListWebhookDeliveriesResponse,
  ListWebhooksRequest,
  ListWebhooksResponse,
  RedeliverWebhookRequest,
  RedeliverWebhookResponse,
  RotateWebhookSecretResponse,
  UpdateWebhookRequest,
  Webhook,
  WebhookDelivery,
} from "./gen/webhook.ts";
import type { EventType } from "./handlers.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";
import { fetchWebhookHandler, nodeWebhookHandler } from "./webhook-handler.ts";
import { signTestPayload, verifyWebhook } from "./webhook-signature.ts";

export class Webhooks {
  readonly #call: Call;

  /** Checks a webhook that arrived, and returns its event. */
  readonly verify = verifyWebhook;
  /** An endpoint for servers that speak Request and Response. */
  readonly fetchHandler = fetchWebhookHandler;
  /** An endpoint for Node's own server and for Express. */
  readonly nodeHandler = nodeWebhookHandler;
  /** Signs an event as Posthorn would, for your own tests. */
  readonly signTestPayload = signTestPayload;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Creates a webhook. The signing secret is in this answer and can never be read again. */
  async create(webhook: CreateWebhookRequest, options?: CallOptions): Promise<CreateWebhookResponse> {
    return await this.#call("WebhookService/CreateWebhook", webhook, options);
  }

  async get(id: string, options?: CallOptions): Promise<Webhook> {
    return (await this.#call("WebhookService/GetWebhook", { id }, options)).webhook;
  }

  /** The webhooks, newest first. */
  list(request: ListWebhooksRequest = {}, options?: CallOptions): List<Webhook, ListWebhooksResponse> {
    return listByToken((pageToken = request.pageToken) =>
      this.#call("WebhookService/ListWebhooks", { ...request, pageToken }, options),
    );
  }

  /** Changes what is given and leaves the rest. */
  async update(id: string, change: Omit<UpdateWebhookRequest, "id">, options?: CallOptions): Promise<Webhook> {
    return (await this.#call("WebhookService/UpdateWebhook", { ...change, id }, options)).webhook;
  }

  /** Deletes a webhook with its waiting deliveries. */
  async delete(id: string, options?: CallOptions): Promise<DeleteWebhookResponse> {
    return await this.#call("WebhookService/DeleteWebhook", { id }, options);
  }

  /** Gives a new signing secret. For 24 hours the old one signs too. */
  async rotateSecret(id: string, options?: CallOptions): Promise<RotateWebhookSecretResponse> {
    return await this.#call("WebhookService/RotateWebhookSecret", { id }, options);
  }

  /** The deliveries of a webhook, newest first, each with its last attempt. */
  deliveries(
    webhookId: string,
    filter: Omit<ListWebhookDeliveriesRequest, "webhookId"> = {},
    options?: CallOptions,
  ): List<WebhookDelivery, ListWebhookDeliveriesResponse> {
    return listByToken((pageToken = filter.pageToken) =>
      this.#call("WebhookService/ListWebhookDeliveries", { ...filter, webhookId, pageToken }, options),
    );
  }

  /** Posts again: one delivery, or every event from one cursor to another. */
  async redeliver(
    webhookId: string,
    what: Omit<RedeliverWebhookRequest, "webhookId">,
    options?: CallOptions,
  ): Promise<RedeliverWebhookResponse> {
    return await this.#call("WebhookService/RedeliverWebhook", { ...what, webhookId }, options);
  }

  /** Posts one made-up event now and tells what the endpoint answered. */
  async sendTest(id: string, eventType?: EventType, options?: CallOptions): Promise<WebhookDelivery> {
    return (await this.#call("WebhookService/SendTestWebhook", { id, eventType }, options)).delivery;
  }
}
