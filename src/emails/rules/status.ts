/**
 * The state machine of an email. Its status always follows from the counters on its row. The statements in emails/store,
 * delivery/store and queue/store.ts implement it.
 */
import type { StateMachine } from "../../ops/state-machine.ts";

export const emailStatuses = ["queued", "processing", "sent", "failed"] as const;
export type EmailStatus = (typeof emailStatuses)[number];
export type EmailEvent = "taken" | "deferred" | "accepted" | "refused";

/** `open` recipients have no final status yet, `accepted` ones are delivered or sent, `inFlight` ones are being attempted. */
export interface EmailCounters {
  total: number;
  open: number;
  accepted: number;
  inFlight: number;
}

export const emailMachine: StateMachine<EmailStatus, EmailEvent> = {
  name: "email",
  about: "The status of an email, derived from counters of its recipients. Sent and failed are final.",
  initial: "queued",
  states: {
    queued: "Waiting for its scheduled time, or for the next attempt to every open recipient.",
    processing: "At least one recipient is being attempted now. Not stored: it applies while a recipient is leased.",
    sent: "No recipient is open and at least one was accepted.",
    failed: "No recipient is open and none was accepted; also a canceled email.",
  },
  events: {
    taken: "a recipient is in flight",
    deferred: "recipients are open and none is in flight",
    accepted: "the last open recipient is settled, and at least one was accepted",
    refused: "the last open recipient is settled, and none was accepted",
  },
  transitions: [
    { from: "queued", event: "taken", to: "processing" },
    { from: "processing", event: "deferred", to: "queued" },
    { from: "processing", event: "accepted", to: "sent" },
    { from: "processing", event: "refused", to: "failed" },
    // Without an attempt: the remaining recipients were canceled.
    { from: "queued", event: "accepted", to: "sent" },
    { from: "queued", event: "refused", to: "failed" },
  ],
};

/** The event that follows from the counters. */
export function emailEvent({ open, accepted, inFlight }: EmailCounters): EmailEvent {
  if (open === 0) return accepted > 0 ? "accepted" : "refused";
  return inFlight > 0 ? "taken" : "deferred";
}
