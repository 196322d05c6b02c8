/** Webhooks and their deliveries as the wire shows them, and what a request may say of them. */
import { type MessageInitShape, toJsonString } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { EventSchema } from "../gen/v1/event_pb.ts";
import {
  type WebhookDeliverySchema,
  WebhookDeliveryStatus,
  type WebhookSchema,
  WebhookStatus,
} from "../gen/v1/webhook_pb.ts";
import type { Violation } from "../rules/problem.ts";
import type { StoredEvent } from "../store/events.ts";
import { toWireId } from "../store/ids.ts";
import type { Delivery, DeliveryStatus } from "../store/webhook-deliveries.ts";
import type { Webhook } from "../store/webhooks.ts";
import { eventOnWire, eventTypes } from "./event-wire.ts";

const maxDescriptionLength = 500;

export function webhookOnWire(webhook: Webhook): MessageInitShape<typeof WebhookSchema> {
  return {
    id: toWireId("webhook", webhook.id),
    url: webhook.url,
    eventTypes: webhook.eventTypes,
    description: webhook.description,
    status: webhook.disabledAt ? WebhookStatus.DISABLED : WebhookStatus.ENABLED,
    disabledReason: webhook.disabledReason ?? "",
    disabledAt: time(webhook.disabledAt),
    failingSince: time(webhook.failingSince),
    previousSecretExpiresAt: time(webhook.previousSecretUntil),
    createdAt: time(webhook.createdAt),
    updatedAt: time(webhook.updatedAt),
  };
}

export function deliveryOnWire(delivery: Delivery, payload: string): MessageInitShape<typeof WebhookDeliverySchema> {
  const { emailId, dueAt } = delivery;
  return {
    id: toWireId("delivery", delivery.id),
    webhookId: toWireId("webhook", delivery.webhookId),
    eventId: toWireId("event", delivery.eventId),
    eventType: delivery.eventType,
    cursor: delivery.eventNumber ?? "",
    emailId: emailId ? toWireId("email", emailId) : "",
    status: deliveryStatusOnWire[delivery.status],
    attempts: delivery.attempts,
    payload,
    responseStatus: delivery.responseStatus ?? 0,
    responseHead: delivery.responseHead ?? "",
    durationMs: delivery.durationMs ?? 0,
    error: delivery.error ?? "",
    lastAttemptAt: time(delivery.lastAttemptAt),
    nextAttemptAt: time(delivery.status === "queued" ? dueAt : null),
    settledAt: time(delivery.settledAt),
    createdAt: time(delivery.createdAt),
  };
}

const deliveryStatusOnWire: Record<DeliveryStatus, WebhookDeliveryStatus> = {
  queued: WebhookDeliveryStatus.QUEUED,
  delivered: WebhookDeliveryStatus.DELIVERED,
  failed: WebhookDeliveryStatus.FAILED,
};

/** Undefined: any. */
export function deliveryStatusFrom(status: WebhookDeliveryStatus, problems: Violation[]): DeliveryStatus | undefined {
  const states = Object.keys(deliveryStatusOnWire) as DeliveryStatus[];
  const state = states.find((one) => deliveryStatusOnWire[one] === status);
  if (!state && status !== WebhookDeliveryStatus.UNSPECIFIED)
    problems.push({ field: "status", description: "is no status of a delivery; leave it out for any" });
  return state;
}

/** The body of a delivery: the event as streams show it, texts of inbound mail included, since its owner asked for it. */
export function eventJson(event: StoredEvent): string {
  return toJsonString(EventSchema, eventOnWire(event, { inboundText: true }), { alwaysEmitImplicit: true });
}

/** A list without end must not make an answer without end. */
const mostProblems = 50;

/** `["*"]` is all, which is stored as none; undefined when nothing was said. */
export function eventTypesFrom(types: readonly string[], problems: Violation[]): string[] | undefined {
  if (types.length === 0) return undefined;
  if (types.length === 1 && types[0] === "*") return [];
  for (const [i, type] of types.entries()) {
    if (isEventType(type)) continue;
    if (problems.length >= mostProblems) break;
    const description =
      type === "*"
        ? 'stands for all types and must stand alone: ["*"]'
        : `is no event type; there are ${eventTypes.join(", ")}`;
    problems.push({ field: `eventTypes[${i}]`, description });
  }
  return [...new Set(types)];
}

export function isEventType(type: string): boolean {
  return (eventTypes as readonly string[]).includes(type);
}

export function descriptionFrom(text: string, problems: Violation[]): string {
  const description = text.trim();
  if (description.length > maxDescriptionLength)
    problems.push({
      field: "description",
      description: `must have at most ${maxDescriptionLength} characters, has ${description.length}`,
    });
  else if (/\p{Cc}/u.test(description))
    problems.push({ field: "description", description: "must not hold control characters" });
  return description;
}

function time(date: Date | null) {
  return date ? timestampFromDate(date) : undefined;
}
