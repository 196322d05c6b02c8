/** WebhookService: the endpoints that events are posted to, the log of what was posted, and posting again. */
import { WebhookService } from "../gen/v1/webhook_pb.ts";
import { invalid, notFound, Problem, type Violation } from "../rules/problem.ts";
import { previousSecretMs } from "../rules/webhook-retry.ts";
import type { Clock } from "../store/clock.ts";
import type { Sql } from "../store/db.ts";
import { fromWireId, makeUuid } from "../store/ids.ts";
import type { Secrets } from "../store/secrets.ts";
import {
  deleteWebhook,
  getWebhook,
  insertWebhook,
  listWebhooks,
  makeSigningSecret,
  maxWebhooks,
  rotateSecret,
  secretContext,
  updateWebhook,
  type Webhook,
} from "../store/webhooks.ts";
import type { Call } from "./call.ts";
import { cutPage, keysetPage } from "./paging.ts";
import { serve } from "./service.ts";
import { listWebhookDeliveries, redeliverWebhook } from "./webhook-deliveries.ts";
import { type SendTest, sendTestWebhook } from "./webhook-test-event.ts";
import { descriptionFrom, eventTypesFrom, webhookOnWire } from "./webhook-wire.ts";

export type WebhookServiceDeps = {
  sql: Sql;
  clock: Clock;
  secrets: Secrets;
  /** A URL as it may be stored, or what to change. */
  check(url: string, signal: AbortSignal): Promise<{ url: string } | { problem: string }>;
  sendTest: SendTest;
};

export function createWebhookService(deps: WebhookServiceDeps) {
  const { sql } = deps;

  return serve(WebhookService, {
    async createWebhook(request, call) {
      const problems: Violation[] = [];
      const url = await checkUrl(request.url, call, problems);
      const eventTypes = eventTypesFrom(request.eventTypes, problems) ?? [];
      const description = descriptionFrom(request.description, problems);
      if (problems.length > 0) throw invalid(problems);
      const id = makeUuid(deps.clock.nowMs());
      const { secret, sealedSecret } = newSecret(id);
      const { workspaceId } = call.caller;
      call.beginWrite();
      const webhook = await insertWebhook(sql, { workspaceId, id, url, eventTypes, description, sealedSecret });
      if (!webhook)
        throw new Problem(
          "resource_exhausted",
          `This workspace has ${maxWebhooks} webhooks, as many as it may. Delete one that is no longer needed.`,
        );
      return { webhook: webhookOnWire(webhook), signingSecret: secret };
    },

    async getWebhook(request, call) {
      return { webhook: webhookOnWire(await findWebhook(sql, request.id, call)) };
    },

    async listWebhooks(request, call) {
      const { limit, before } = keysetPage(request);
      const { workspaceId } = call.caller;
      const cut = cutPage(await listWebhooks(sql, { workspaceId, before, limit: limit + 1 }), limit);
      return { data: cut.rows.map(webhookOnWire), nextPageToken: cut.nextPageToken };
    },

    async updateWebhook(request, call) {
      const { id } = await findWebhook(sql, request.id, call);
      const problems: Violation[] = [];
      const change = {
        url: request.url === undefined ? undefined : await checkUrl(request.url, call, problems),
        eventTypes: eventTypesFrom(request.eventTypes, problems),
        description: request.description === undefined ? undefined : descriptionFrom(request.description, problems),
        enabled: request.enabled,
      };
      if (problems.length > 0) throw invalid(problems);
      call.beginWrite();
      const webhook = await updateWebhook(sql, call.caller.workspaceId, id, change);
      if (!webhook) throw notFound("webhook", request.id);
      return { webhook: webhookOnWire(webhook) };
    },

    async deleteWebhook(request, call) {
      const id = idFrom(request.id);
      call.beginWrite();
      const webhook = id && (await deleteWebhook(sql, call.caller.workspaceId, id));
      if (!webhook) throw notFound("webhook", request.id);
      return { message: `The webhook to ${webhook.url} is deleted; what was still waiting for it is not posted.` };
    },

    async rotateWebhookSecret(request, call) {
      const { id } = await findWebhook(sql, request.id, call);
      const { secret, sealedSecret } = newSecret(id);
      const { workspaceId } = call.caller;
      call.beginWrite();
      const webhook = await rotateSecret(sql, { workspaceId, id, sealedSecret, previousForMs: previousSecretMs });
      if (!webhook) throw notFound("webhook", request.id);
      return { webhook: webhookOnWire(webhook), signingSecret: secret };
    },

    listWebhookDeliveries: async (request, call) =>
      await listWebhookDeliveries(sql, await findWebhook(sql, request.webhookId, call, "webhookId"), request, call),

    redeliverWebhook: async (request, call) =>
      await redeliverWebhook(deps, await findWebhook(sql, request.webhookId, call, "webhookId"), request, call),

    sendTestWebhook: async (request, call) =>
      await sendTestWebhook(deps, await findWebhook(sql, request.id, call), request, call),
  });

  async function checkUrl(text: string, call: Call, problems: Violation[]): Promise<string> {
    const checked = await deps.check(text, call.life.signal);
    if ("url" in checked) return checked.url;
    problems.push({ field: "url", description: checked.problem });
    return text;
  }

  function newSecret(webhookId: string): { secret: string; sealedSecret: string } {
    const secret = makeSigningSecret();
    return { secret, sealedSecret: deps.secrets.seal(secret, secretContext(webhookId)) };
  }
}

async function findWebhook(sql: Sql, wireId: string, call: Call, field = "id"): Promise<Webhook> {
  const id = idFrom(wireId, field);
  const webhook = id && (await getWebhook(sql, call.caller.workspaceId, id));
  if (!webhook) throw notFound("webhook", wireId);
  return webhook;
}

function idFrom(wireId: string, field = "id"): string | undefined {
  if (wireId === "") throw invalid([{ field, description: "is required: the id of a webhook, wh_…" }]);
  return fromWireId("webhook", wireId);
}
