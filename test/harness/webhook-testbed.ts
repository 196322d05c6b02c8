/** Sets up tests of webhooks: the real program with a receiver on this machine, and calls that many tests make. */
import assert from "node:assert/strict";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { type Received, type Receiver, startReceiver } from "./receiver.ts";
import { startTestbed, type Testbed, type TestbedOptions } from "./testbed.ts";
import { until } from "./wait.ts";

export type WireWebhook = {
  id: string;
  url: string;
  eventTypes: string[];
  description: string;
  status: string;
  disabledReason: string;
  disabledAt?: string;
  failingSince?: string;
  lastSuccessAt?: string;
  lastFailureAt?: string;
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

export type WebhookTestbed = Testbed & {
  receiver: Receiver;
  /** Creates a webhook at the receiver, unless the request has another URL. */
  createWebhook(request?: Record<string, unknown>): Promise<WireWebhook & { secret: string }>;
  getWebhook(id: string): Promise<WireWebhook>;
  /** The complete delivery log, newest first. */
  deliveries(webhookId: string, filter?: Record<string, unknown>): Promise<WireDelivery[]>;
  untilDeliveries(
    what: string,
    webhookId: string,
    enough: (deliveries: WireDelivery[]) => boolean,
  ): Promise<WireDelivery[]>;
  /** Makes a call of WebhookService that must succeed. */
  ask(method: string, request: unknown): Promise<Record<string, unknown>>;
};

/** Retries are quick, so that tests need not wait. The private address of the receiver is the only one allowed. */
export async function startWebhookTestbed(options: TestbedOptions = {}): Promise<WebhookTestbed> {
  const env = {
    POSTHORN_ALLOW_PRIVATE_WEBHOOKS: "127.0.0.1/32",
    POSTHORN_WEBHOOK_SCHEDULE_MS: "100,200,300",
    // On a busy machine a response may take longer than the default of 15 s.
    POSTHORN_WEBHOOK_TIMEOUT_MS: "60000",
  };
  const testbed = await startTestbed({ ...options, env: { ...env, ...options.env } });
  const receiver = await startReceiver();
  const ask = async (method: string, request: unknown) => {
    const { status, body } = await testbed.call(`WebhookService/${method}`, request);
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
    ...testbed,
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
      await testbed.stop();
      await receiver.close();
    },
  };
}

/** Whether the common verification libraries accept a request with this secret. Both must agree. */
export function verifies(request: Pick<Received, "body" | "headers">, secret: string): boolean {
  const accepts = [StandardWebhook, SvixWebhook].map((Verifier) => {
    try {
      new Verifier(secret).verify(request.body, request.headers);
      return true;
    } catch {
      return false;
    }
  });
  assert.equal(accepts[0], accepts[1], "the two libraries do not agree");
  return accepts[0]!;
}

export function typesOf(requests: readonly Received[]): string[] {
  return requests.map(({ event }) => event.type);
}
