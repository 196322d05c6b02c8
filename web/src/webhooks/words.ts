/** The states of webhooks and of deliveries in the words of the dashboard. */
import { type Webhook, WebhookDeliveryStatus, WebhookStatus } from "../../../src/gen/v1/webhook_pb.ts";
import type { Word } from "../parts/mark.tsx";

export function webhookWord({ status, failingSince }: Webhook): Word {
  if (status === WebhookStatus.DISABLED) return { word: "Disabled", color: "gray" };
  if (failingSince) return { word: "Failing", color: "orange" };
  return { word: "Enabled", color: "green" };
}

const words: Partial<Record<WebhookDeliveryStatus, Word>> = {
  [WebhookDeliveryStatus.QUEUED]: { word: "Waiting", color: "blue" },
  [WebhookDeliveryStatus.DELIVERED]: { word: "Delivered", color: "green" },
  [WebhookDeliveryStatus.FAILED]: { word: "Failed", color: "red" },
};

export const deliveryStatuses = [
  WebhookDeliveryStatus.QUEUED,
  WebhookDeliveryStatus.DELIVERED,
  WebhookDeliveryStatus.FAILED,
];

export function deliveryWord(status: WebhookDeliveryStatus): Word {
  return words[status] ?? { word: `Status ${status}`, color: "gray" };
}

export function sayTypes(eventTypes: readonly string[]): string {
  return eventTypes.length === 0 ? "all events" : eventTypes.join(", ");
}
