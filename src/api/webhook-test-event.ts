/** SendTestWebhook: a made-up event posted to an endpoint at once, and the same event again when the log shows it. */
import type { SendTestWebhookRequest } from "../gen/v1/webhook_pb.ts";
import { invalid, notFound, Problem } from "../rules/problem.ts";
import { sampleMetadata, samplePayload } from "../rules/webhook-sample.ts";
import type { Clock } from "../store/clock.ts";
import type { Sql } from "../store/db.ts";
import type { StoredEvent } from "../store/events.ts";
import { makeUuid } from "../store/ids.ts";
import { type Delivery, insertTestDelivery } from "../store/webhook-deliveries.ts";
import { getSigner, type Webhook, type WebhookSigner } from "../store/webhooks.ts";
import type { Call } from "./call.ts";
import { eventTypes } from "./event-wire.ts";
import { deliveryOnWire, eventJson, isEventType } from "./webhook-wire.ts";

/** One attempt at an endpoint; undefined when `signal` cut it off. */
export type SendTest = (
  signer: WebhookSigner,
  event: StoredEvent,
  signal: AbortSignal,
) => Promise<
  | { outcome: string; error: string; responseStatus: number | undefined; responseHead: string; durationMs: number }
  | undefined
>;

export async function sendTestWebhook(
  deps: { sql: Sql; clock: Clock; sendTest: SendTest },
  webhook: Webhook,
  request: SendTestWebhookRequest,
  call: Call,
) {
  const type = request.eventType || "email.delivered";
  if (!isEventType(type))
    throw invalid([{ field: "eventType", description: `is no event type; there are ${eventTypes.join(", ")}` }]);
  const { workspaceId } = call.caller;
  const signer = await getSigner(deps.sql, workspaceId, webhook.id);
  if (!signer) throw notFound("webhook", request.id);
  const nowMs = deps.clock.nowMs();
  const event = madeUpEvent({
    ...{ eventId: makeUuid(nowMs), eventType: type, eventAt: new Date(nowMs) },
    emailId: type.startsWith("email.") ? makeUuid(nowMs) : null,
  });
  const attempted = await deps.sendTest(signer, event, call.life.signal);
  // Whoever asked is gone: the deadline's own error was the answer.
  if (!attempted) throw new Problem("canceled", "The call ended before the endpoint had answered.");
  const { outcome, error, responseStatus, responseHead, durationMs } = attempted;
  call.beginWrite();
  const delivery = await insertTestDelivery(deps.sql, {
    ...{ workspaceId, webhookId: webhook.id, id: makeUuid(nowMs), event },
    status: outcome === "delivered" ? "delivered" : "failed",
    ...{ responseStatus, responseHead, durationMs, error },
  });
  return { delivery: deliveryOnWire(delivery, eventJson(event)) };
}

/** The event of a test follows from what its delivery keeps, so that it need not be stored. */
export function madeUpEvent(test: Pick<Delivery, "eventId" | "eventType" | "eventAt" | "emailId">): StoredEvent {
  const { eventId: id, eventType: type, eventAt: createdAt, emailId } = test;
  const messageId = emailId && `<${emailId}@example.org>`;
  const payload = samplePayload(type) ?? {};
  return { number: "", id, type, emailId, messageId, metadata: { ...sampleMetadata }, payload, createdAt };
}
