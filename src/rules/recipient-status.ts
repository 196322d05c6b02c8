/** The status machine of one recipient of an email: a table, and `next`, which every settlement follows. */
import type { OutcomeKind } from "./outcome.ts";
import { type StateMachine, step } from "./state-machine.ts";

export const recipientStatuses = [
  "queued",
  "delayed",
  "delivered",
  "sent",
  "bounced",
  "failed",
  "suppressed",
  "canceled",
] as const;
export type RecipientStatus = (typeof recipientStatuses)[number];

/** An attempt's outcome, or what happens to a recipient without one. */
export type RecipientEvent = OutcomeKind | "suppressed" | "canceled" | "returned";

/** Still to be delivered; every other status is an end. */
export const openStatuses = ["queued", "delayed"] as const satisfies readonly RecipientStatus[];

/** Counted in the email's `accepted`. */
export const acceptedStatuses = ["delivered", "sent"] as const satisfies readonly RecipientStatus[];

const ends = [
  { event: "delivered", to: "delivered" },
  { event: "sent", to: "sent" },
  { event: "bounced", to: "bounced" },
  { event: "failed", to: "failed" },
  { event: "suppressed", to: "suppressed" },
  { event: "canceled", to: "canceled" },
] as const;

export const recipientMachine: StateMachine<RecipientStatus, RecipientEvent> = {
  name: "recipient",
  about: "The status of one recipient of an email. It ends once; only a returned message moves it after that.",
  initial: "queued",
  states: {
    queued: "Waiting for the first attempt, or for its scheduled time.",
    delayed: "At least one attempt was deferred; another follows.",
    delivered: "The recipient's own server took the message.",
    sent: "The relay took the message; what becomes of it there is not known.",
    bounced: "The receiver refused for good, or kept refusing until the time was up.",
    failed: "A fault of ours or of the account, no receiver involved.",
    suppressed: "The address was on the workspace's suppression list when its turn came.",
    canceled: "The email was canceled before this recipient was reached.",
  },
  events: {
    delivered: "the recipient's own server accepted the message",
    sent: "the relay accepted the message",
    deferred: "a temporary failure, with time left for another attempt",
    bounced: "a permanent refusal, or a temporary one with no time left",
    failed: "the message could not be offered to anybody, or an operator purged it",
    suppressed: "the address is suppressed",
    canceled: "CancelEmail",
    returned: "an authenticated delivery status notification says that it was not delivered after all",
  },
  transitions: [
    { from: "queued", event: "deferred", to: "delayed" },
    ...ends.map((end) => ({ from: "queued" as const, ...end })),
    ...ends.map((end) => ({ from: "delayed" as const, ...end })),
    { from: "delivered", event: "returned", to: "bounced" },
    { from: "sent", event: "returned", to: "bounced" },
  ],
};

/** The status after an event; an event that does not apply changes nothing. */
export function next(status: RecipientStatus, event: RecipientEvent): RecipientStatus {
  return step(recipientMachine, status, event);
}
