/** The world of webhook journeys: the real program with a receiver on this machine, and calls that journeys make again and again. */
import assert from "node:assert/strict";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { type Received, type Receiver, startReceiver } from "./receiver.ts";
import { until } from "./wait.ts";
import { startWorld, type World, type WorldOptions } from "./world.ts";

export type WireWebhook = {
  id: string;
  url: string;
  eventTypes: string[];
  description: string;
  status: string;
  disabledReason: string;
  disabledAt?: string;
  failingSince?: string;
  previousSecretExpiresAt?: string;
};

export type WireDelivery = {
  id: string;
  webhookId: string;
  eventId: string;
  eventType: string;
  cursor: string;
  emailId: string;
  status: string;
  attempts: number;
  payload: string;
  responseStatus: number;
  responseHead: string;
  durationMs: number;
  error: string;
  lastAttemptAt?: string;
  nextAttemptAt?: string;
  settledAt?: string;
};

export type WebhookWorld = World & {
  receiver: Receiver;
  /** At the receiver, under a path of its own or another URL. */
  createWebhook(request?: Record<string, unknown>): Promise<WireWebhook & { secret: string }>;
  getWebhook(id: string): Promise<WireWebhook>;
  /** The whole delivery log, newest first. */
  deliveries(webhookId: string, filter?: Record<string, unknown>): Promise<WireDelivery[]>;
  untilDeliveries(
    what: string,
    webhookId: string,
    enough: (deliveries: WireDelivery[]) => boolean,
  ): Promise<WireDelivery[]>;
  /** A call of WebhookService that must succeed. */
  ask(method: string, request: unknown): Promise<Record<string, unknown>>;
};

/** Retries come soon, so that journeys need not wait; the receiver's one address is opened and no other. */
export async function startWebhookWorld(options: WorldOptions = {}): Promise<WebhookWorld> {
  const env = {
    POSTHORN_ALLOW_PRIVATE_WEBHOOKS: "127.0.0.1/32",
    POSTHORN_WEBHOOK_SCHEDULE_MS: "100,200,300",
    // On a busy machine an answer may take longer than the default of 15 s.
    POSTHORN_WEBHOOK_TIMEOUT_MS: "60000",
  };
  const world = await startWorld({ ...options, env: { ...env, ...options.env } });
  const receiver = await startReceiver();
  const ask = async (method: string, request: unknown) => {
    const { status, body } = await world.call(`WebhookService/${method}`, request);
    assert.equal(status, 200, `${method}: ${JSON.stringify(body)}`);
    return body;
  };
  const deliveries = async (webhookId: string, filter: Record<string, unknown> = {}) => {
    const all: WireDelivery[] = [];
    for (let pageToken = ""; ; ) {
      const body = await ask("ListWebhookDeliveries", { webhookId, pageSize: 100, pageToken, ...filter });
      all.push(...(body.data as WireDelivery[]));
      pageToken = body.nextPageToken as string;
      if (pageToken === "") return all;
    }
  };
  return {
    ...world,
    receiver,
    ask,
    deliveries,
    async createWebhook(request = {}) {
      const body = await ask("CreateWebhook", { url: `${receiver.url}/hook`, ...request });
      return { ...(body.webhook as WireWebhook), secret: body.signingSecret as string };
    },
    getWebhook: async (id) => (await ask("GetWebhook", { id })).webhook as WireWebhook,
    untilDeliveries: async (what, webhookId, enough) =>
      await until(what, async () => {
        const found = await deliveries(webhookId);
        return enough(found) ? found : undefined;
      }),
    async stop() {
      await world.stop();
      await receiver.close();
    },
  };
}

/** Whether the libraries that receivers are likely to have take a request with this secret; both must say the same. */
export function verifies(request: Pick<Received, "body" | "headers">, secret: string): boolean {
  const takes = [StandardWebhook, SvixWebhook].map((Verifier) => {
    try {
      new Verifier(secret).verify(request.body, request.headers);
      return true;
    } catch {
      return false;
    }
  });
  assert.equal(takes[0], takes[1], "the two libraries do not agree");
  return takes[0]!;
}

export function typesOf(requests: readonly Received[]): string[] {
  return requests.map(({ event }) => event.type);
}
