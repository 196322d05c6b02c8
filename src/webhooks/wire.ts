/** Converts webhooks and deliveries to the contract's messages, and checks the fields of requests. Called by service.ts; `eventJson` is
 * also the body of deliveries. */
import { type MessageInitShape, toJsonString } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Cuts, cursorText } from "../events/rules.ts";
import type { StoredEvent } from "../events/store.ts";
import { eventOnWire, eventTypes } from "../events/wire.ts";
import { EventSchema } from "../gen/v1/event_pb.ts";
import {
  type WebhookAttemptSchema,
  type WebhookDeliverySchema,
  WebhookDeliveryStatus,
  type WebhookSchema,
  WebhookStatus,
} from "../gen/v1/webhook_pb.ts";
import type { Violation } from "../ops/problem.ts";
import { toWireId } from "../postgres/ids.ts";
import { sampleMetadata, samplePayload } from "./rules/sample.ts";
import type { Attempt } from "./store/attempts.ts";
import type { Delivery, DeliveryStatus } from "./store/deliveries.ts";
import type { Webhook } from "./store/webhooks.ts";

const maxDescriptionLength = 500;
/** Limits the size of the error for a request with a long list of invalid types. */
const maxProblems = 50;

const deliveryStatusOnWire: Record<DeliveryStatus, WebhookDeliveryStatus> = {
  queued: WebhookDeliveryStatus.QUEUED,
  delivered: WebhookDeliveryStatus.DELIVERED,
  failed: WebhookDeliveryStatus.FAILED,
};

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
    lastSuccessAt: time(webhook.lastSuccessAt),
    lastFailureAt: time(webhook.lastFailureAt),
    previousSecretExpiresAt: time(webhook.previousSecretUntil),
    createdAt: time(webhook.createdAt),
    updatedAt: time(webhook.updatedAt),
  };
}

export function deliveryOnWire(
  delivery: Delivery,
  { payload, cuts }: { payload: string; cuts: Cuts },
): MessageInitShape<typeof WebhookDeliverySchema> {
  const { emailId, eventNumber, dueAt } = delivery;
  return {
    id: toWireId("delivery", delivery.id),
    webhookId: toWireId("webhook", delivery.webhookId),
    eventId: toWireId("event", delivery.eventId),
    eventType: delivery.eventType,
    cursor: eventNumber === null ? "" : cursorText(BigInt(eventNumber), cuts),
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

export function attemptOnWire(attempt: Attempt): MessageInitShape<typeof WebhookAttemptSchema> {
  const { attemptedAt, responseStatus, ...others } = attempt;
  return { ...others, responseStatus: responseStatus ?? 0, attemptedAt: time(attemptedAt) };
}

/** Undefined: any status. */
export function deliveryStatusFrom(status: WebhookDeliveryStatus, problems: Violation[]): DeliveryStatus | undefined {
  const states = Object.keys(deliveryStatusOnWire) as DeliveryStatus[];
  const state = states.find((one) => deliveryStatusOnWire[one] === status);
  if (!state && status !== WebhookDeliveryStatus.UNSPECIFIED)
    problems.push({ field: "status", description: "is not a delivery status; omit it for deliveries of any status" });
  return state;
}

/** The body of a delivery: the event as streams show it, with the texts of inbound mail. */
export function eventJson(event: StoredEvent): string {
  return toJsonString(EventSchema, eventOnWire(event, { inboundText: true }), { alwaysEmitImplicit: true });
}

/** `["*"]` means all types, which is stored as an empty list; undefined when the request has no types. */
export function eventTypesFrom(types: readonly string[], problems: Violation[]): string[] | undefined {
  if (types.length === 0) return undefined;
  if (types.length === 1 && types[0] === "*") return [];
  for (const [i, type] of types.entries()) {
    if (isEventType(type)) continue;
    if (problems.length >= maxProblems) break;
    const description =
      type === "*"
        ? 'means all types and must be the only entry: ["*"]'
        : `is not an event type; use one of ${eventTypes.join(", ")}`;
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
    problems.push({ field: "description", description: "must not contain control characters" });
  return description;
}

function time(date: Date | null) {
  return date ? timestampFromDate(date) : undefined;
}

/** The event of a test delivery, as it is posted and as the log of deliveries shows it. It is computed from the delivery's columns, so that it does not have to be stored. */
export function sampleEvent(test: Pick<Delivery, "eventId" | "eventType" | "eventAt" | "emailId">): StoredEvent {
  const { eventId: id, eventType: type, eventAt: createdAt, emailId } = test;
  const messageId = emailId && `<${emailId}@example.org>`;
  const payload = samplePayload(type) ?? {};
  return { number: "", id, type, emailId, messageId, metadata: { ...sampleMetadata }, payload, createdAt };
}
