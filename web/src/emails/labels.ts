/** Labels for the statuses of emails and recipients. */
import { EmailStatus, RecipientStatus } from "../../../src/gen/v1/email_pb.ts";
import type { StatusLabel } from "../parts/icons.tsx";

const emailLabels: Partial<Record<EmailStatus, StatusLabel>> = {
  [EmailStatus.QUEUED]: {
    text: "Queued",
    color: "gray",
    meaning: "Waiting for its scheduled time, a free slot or its next attempt.",
  },
  [EmailStatus.PROCESSING]: { text: "Sending", color: "blue", meaning: "Some recipients do not have an outcome yet." },
  [EmailStatus.SENT]: { text: "Sent", color: "green", meaning: "Finished: accepted for at least one recipient." },
  [EmailStatus.FAILED]: { text: "Failed", color: "red", meaning: "Finished: not accepted for any recipient." },
};

export function emailLabel(status: EmailStatus): StatusLabel {
  return emailLabels[status] ?? { text: `Status ${status}`, color: "gray" };
}

const recipientLabels: Partial<Record<RecipientStatus, StatusLabel>> = {
  [RecipientStatus.QUEUED]: { text: "Queued", color: "gray" },
  [RecipientStatus.PROCESSING]: { text: "Sending", color: "blue" },
  [RecipientStatus.DELAYED]: { text: "Delayed", color: "yellow" },
  [RecipientStatus.DELIVERED]: { text: "Delivered", color: "green" },
  [RecipientStatus.SENT]: { text: "Sent", color: "green", meaning: "Accepted by the relay." },
  [RecipientStatus.BOUNCED]: { text: "Bounced", color: "red" },
  [RecipientStatus.FAILED]: { text: "Failed", color: "red" },
  [RecipientStatus.SUPPRESSED]: { text: "Suppressed", color: "orange" },
  [RecipientStatus.CANCELED]: { text: "Canceled", color: "gray" },
};

export function recipientLabel(status: RecipientStatus): StatusLabel {
  return recipientLabels[status] ?? { text: `Status ${status}`, color: "gray" };
}

/** True while the email can change soon and can be canceled. */
export function isOpen(status: EmailStatus): boolean {
  return status === EmailStatus.QUEUED || status === EmailStatus.PROCESSING;
}
