/** The states of emails and of their recipients in the words of the dashboard. */
import { EmailStatus, RecipientStatus } from "../../../src/gen/v1/email_pb.ts";
import { enumName } from "../parts/enum-name.ts";
import type { Word } from "../parts/mark.tsx";

const emailWords: Partial<Record<EmailStatus, Word>> = {
  [EmailStatus.QUEUED]: {
    word: "Queued",
    color: "gray",
    meaning: "Waiting for its time, its turn or its next attempt.",
  },
  [EmailStatus.PROCESSING]: { word: "Sending", color: "blue", meaning: "Some recipients are still open." },
  [EmailStatus.SENT]: { word: "Sent", color: "green", meaning: "Finished; at least one recipient was accepted." },
  [EmailStatus.FAILED]: { word: "Failed", color: "red", meaning: "Finished; no recipient was accepted." },
};

export const emailStatuses = [EmailStatus.QUEUED, EmailStatus.PROCESSING, EmailStatus.SENT, EmailStatus.FAILED];

export function emailWord(status: EmailStatus): Word {
  return emailWords[status] ?? { word: `Status ${status}`, color: "gray" };
}

/** The name in addresses of this page: `?status=sent`. */
export function statusName(status: EmailStatus): string {
  return enumName(EmailStatus, status);
}

export function statusByName(name: string | undefined): EmailStatus {
  return emailStatuses.find((status) => statusName(status) === name) ?? EmailStatus.UNSPECIFIED;
}

const recipientWords: Partial<Record<RecipientStatus, Word>> = {
  [RecipientStatus.QUEUED]: { word: "Queued", color: "gray" },
  [RecipientStatus.PROCESSING]: { word: "Sending", color: "blue" },
  [RecipientStatus.DELAYED]: { word: "Delayed", color: "yellow" },
  [RecipientStatus.DELIVERED]: { word: "Delivered", color: "green" },
  [RecipientStatus.SENT]: { word: "Sent", color: "green", meaning: "Handed to the relay." },
  [RecipientStatus.BOUNCED]: { word: "Bounced", color: "red" },
  [RecipientStatus.FAILED]: { word: "Failed", color: "red" },
  [RecipientStatus.SUPPRESSED]: { word: "Suppressed", color: "orange" },
  [RecipientStatus.CANCELED]: { word: "Canceled", color: "gray" },
};

export function recipientWord(status: RecipientStatus): Word {
  return recipientWords[status] ?? { word: `Status ${status}`, color: "gray" };
}

/** Still waiting for something: worth asking again soon, and possible to cancel. */
export function isOpen(status: EmailStatus): boolean {
  return status === EmailStatus.QUEUED || status === EmailStatus.PROCESSING;
}
