/** Labels for the states of webhooks and deliveries, and for lists of event types. */
import { type Webhook, WebhookDeliveryStatus, WebhookStatus } from "../../../src/gen/v1/webhook_pb.ts";
import type { StatusLabel } from "../parts/icons.tsx";

export function webhookLabel({ status, failingSince }: Webhook): StatusLabel {
  if (status === WebhookStatus.DISABLED) return { text: "Disabled", color: "gray" };
  if (failingSince) return { text: "Failing", color: "orange" };
  return { text: "Enabled", color: "green" };
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
