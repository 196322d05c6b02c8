/** Labels for the states of webhooks and deliveries, and for lists of event types. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { type Webhook, WebhookDeliveryStatus, WebhookStatus } from "../../../src/gen/v1/webhook_pb.ts";
import type { StatusLabel } from "../parts/icons.tsx";
import type { Tone } from "../parts/outcome.tsx";

export function webhookLabel({ status, failingSince }: Webhook): StatusLabel {
  if (status === WebhookStatus.DISABLED) return { text: "Disabled", color: "gray" };
  if (failingSince) return { text: "Failing", color: "orange" };
  return { text: "Enabled", color: "green" };
}

/** What happens with the events, and what to do about it. `when` is a sentence that ends with a time. */
export type Summary = { tone: Tone; title: string; when?: { text: string; at: Timestamp }; text: string };

export function summaryOf(webhook: Webhook): Summary {
  const { status, failingSince, lastSuccessAt, disabledReason } = webhook;
  if (status === WebhookStatus.DISABLED)
    return {
      tone: "suppressed",
      title: "This webhook is disabled",
      text: `${sentence(disabledReason)} After you enable it, it receives only new events. Redeliver missed events from the log below.`,
    };
  if (failingSince)
    return {
      tone: "failed",
      title: "Every attempt fails",
      when: { text: "The failures started", at: failingSince },
      text: "Each event is retried for about a day, and the webhook is disabled if the failures go on. Open a delivery below to see what the endpoint answered.",
    };
  if (lastSuccessAt)
    return {
      tone: "delivered",
      title: "The endpoint accepts events",
      when: { text: "It accepted the last one", at: lastSuccessAt },
      text: "The log below has every attempt with its request and response.",
    };
  return {
    tone: "queued",
    title: "No event has been accepted yet",
    text: "Send a test event to check that the endpoint responds.",
  };
}

function sentence(text: string): string {
  return text === "" ? "" : `${text[0]!.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

const labels: Partial<Record<WebhookDeliveryStatus, StatusLabel>> = {
  [WebhookDeliveryStatus.QUEUED]: { text: "Waiting", color: "blue" },
  [WebhookDeliveryStatus.DELIVERED]: { text: "Delivered", color: "green" },
  [WebhookDeliveryStatus.FAILED]: { text: "Failed", color: "red" },
};

export const deliveryStatuses = [
  WebhookDeliveryStatus.QUEUED,
  WebhookDeliveryStatus.DELIVERED,
  WebhookDeliveryStatus.FAILED,
];

export function deliveryLabel(status: WebhookDeliveryStatus): StatusLabel {
  return labels[status] ?? { text: `Status ${status}`, color: "gray" };
}

/** The type of a test event: one that the webhook receives. */
export function defaultTestType(eventTypes: readonly string[]): string {
  const usual = "email.delivered";
  return eventTypes.length === 0 || eventTypes.includes(usual) ? usual : eventTypes[0]!;
}

export function formatEventTypes(eventTypes: readonly string[]): string {
  return eventTypes.length === 0 ? "all events" : eventTypes.join(", ");
}
