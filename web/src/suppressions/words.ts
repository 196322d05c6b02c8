/** Why an address is not sent to, in the words of the dashboard. */
import { SuppressionReason } from "../../../src/gen/v1/suppression_pb.ts";
import type { Word } from "../parts/mark.tsx";

const words: Partial<Record<SuppressionReason, Word>> = {
  [SuppressionReason.BOUNCE]: { word: "Bounced", color: "red", meaning: "The mailbox does not exist." },
  [SuppressionReason.COMPLAINT]: { word: "Complained", color: "orange", meaning: "An email was reported as spam." },
  [SuppressionReason.MANUAL]: { word: "By hand", color: "gray" },
  [SuppressionReason.IMPORT]: { word: "Imported", color: "blue" },
};

export const reasons = [
  ...[SuppressionReason.BOUNCE, SuppressionReason.COMPLAINT],
  ...[SuppressionReason.MANUAL, SuppressionReason.IMPORT],
];

export function reasonWord(reason: SuppressionReason): Word {
  return words[reason] ?? { word: `Reason ${reason}`, color: "gray" };
}
