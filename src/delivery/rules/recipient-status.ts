/** The state machine of a recipient's status, as a table. store/states.test.ts compares it with the SQL that changes the status. */

import type { StateMachine } from "../../ops/state-machine.ts";
import type { OutcomeKind } from "./outcome.ts";

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

/** The outcome of an attempt, or a change of status without an attempt. */
export type RecipientEvent = OutcomeKind | "suppressed" | "canceled" | "returned";

/** Not yet final. Every other status is final. */
export const openStatuses = ["queued", "delayed"] as const satisfies readonly RecipientStatus[];

/** Counted in the email's `accepted`. */
export const acceptedStatuses = ["delivered", "sent"] as const satisfies readonly RecipientStatus[];

const finalTransitions = [
  { event: "delivered", to: "delivered" },
  { event: "sent", to: "sent" },
  { event: "bounced", to: "bounced" },
  { event: "failed", to: "failed" },
  { event: "suppressed", to: "suppressed" },
  { event: "canceled", to: "canceled" },
] as const;

export const recipientMachine: StateMachine<RecipientStatus, RecipientEvent> = {
  name: "recipient",
  about: "The status of one recipient of an email. Once final, it changes only when the message is returned.",
  initial: "queued",
  states: {
    queued: "Waiting for the first attempt or for the scheduled time, which UpdateEmail can change until then.",
    delayed: "At least one attempt was deferred; another one follows.",
    delivered: "The recipient's own server accepted the message.",
    sent: "The relay accepted the message; its further delivery is not known.",
    bounced: "The receiver refused the message permanently, or temporarily until the email expired.",
    failed: "An internal error or a problem of the workspace, without a receiver.",
    suppressed:
      "At the time of the attempt, the address was on the workspace's suppression list, or unsubscribed from the topic.",
    canceled: "The email was canceled before it was delivered to this recipient.",
  },
  events: {
    delivered: "the recipient's own server accepted the message",
    sent: "the relay accepted the message",
    deferred: "a temporary failure, with time left for another attempt",
    bounced: "a permanent refusal, or a temporary one with no time left",
    failed: "the message could not be sent to any server, or an operator purged it",
    suppressed: "the address is suppressed",
    canceled: "CancelEmail",
    returned: "an authenticated delivery status notification reports that the message was not delivered after all",
  },
  transitions: [
    { from: "queued", event: "deferred", to: "delayed" },
    ...finalTransitions.map((transition) => ({ from: "queued" as const, ...transition })),
    ...finalTransitions.map((transition) => ({ from: "delayed" as const, ...transition })),
    { from: "delivered", event: "returned", to: "bounced" },
    { from: "sent", event: "returned", to: "bounced" },
  ],
};
