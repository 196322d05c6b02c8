/** Labels for the reasons of suppressions, and for how recipients unsubscribed. */
import { SuppressionReason, UnsubscribeMethod } from "../../../src/gen/v1/suppression_pb.ts";
import type { StatusLabel } from "../parts/icons.tsx";

const labels: Partial<Record<SuppressionReason, StatusLabel>> = {
  [SuppressionReason.BOUNCE]: { text: "Bounced", color: "red", meaning: "The mailbox does not exist." },
  [SuppressionReason.COMPLAINT]: { text: "Complained", color: "grape", meaning: "An email was reported as spam." },
  [SuppressionReason.MANUAL]: { text: "Manual", color: "gray" },
  [SuppressionReason.IMPORT]: { text: "Imported", color: "gray" },
  [SuppressionReason.UNSUBSCRIBED]: { text: "Unsubscribed", color: "gray" },
};

export const reasons = [
  ...[SuppressionReason.BOUNCE, SuppressionReason.COMPLAINT],
  ...[SuppressionReason.MANUAL, SuppressionReason.IMPORT],
];

export function reasonLabel(reason: SuppressionReason): StatusLabel {
  return labels[reason] ?? { text: `Reason ${reason}`, color: "gray" };
}

const methods: Partial<Record<UnsubscribeMethod, StatusLabel>> = {
  [UnsubscribeMethod.ONE_CLICK]: { text: "One click", color: "gray", meaning: "With the button of a mail program." },
  [UnsubscribeMethod.PAGE]: { text: "Page", color: "gray", meaning: "On the page behind the link of an email." },
  [UnsubscribeMethod.API]: { text: "API", color: "gray", meaning: "Added by a caller." },
};

export function methodLabel(method: UnsubscribeMethod): StatusLabel {
  return methods[method] ?? { text: `Method ${method}`, color: "gray" };
}

export function topicText(topic: string): string {
  return topic === "*" ? "all topics" : topic;
}
