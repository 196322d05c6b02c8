/** Labels for the reasons of suppressions. */
import { SuppressionReason } from "../../../src/gen/v1/suppression_pb.ts";
import type { StatusLabel } from "../parts/icons.tsx";

const labels: Partial<Record<SuppressionReason, StatusLabel>> = {
  [SuppressionReason.BOUNCE]: { text: "Bounced", color: "red", meaning: "The mailbox does not exist." },
  [SuppressionReason.COMPLAINT]: { text: "Complained", color: "grape", meaning: "An email was reported as spam." },
  [SuppressionReason.MANUAL]: { text: "Manual", color: "gray" },
  [SuppressionReason.IMPORT]: { text: "Imported", color: "gray" },
};

export const reasons = [
  ...[SuppressionReason.BOUNCE, SuppressionReason.COMPLAINT],
  ...[SuppressionReason.MANUAL, SuppressionReason.IMPORT],
];

export function reasonLabel(reason: SuppressionReason): StatusLabel {
  return labels[reason] ?? { text: `Reason ${reason}`, color: "gray" };
}
