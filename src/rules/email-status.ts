/** The status of an email, which follows from counters on its own row; nobody sets it by hand. */
import { type StateMachine, step } from "./state-machine.ts";

export const emailStatuses = ["queued", "processing", "sent", "failed"] as const;
export type EmailStatus = (typeof emailStatuses)[number];
export type EmailEvent = "taken" | "deferred" | "accepted" | "refused";

/** `open` recipients have no end yet, `accepted` are delivered or sent, `inFlight` are being attempted at this moment. */
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
    queued: "Waiting for its time, or for the next attempt to every recipient still open.",
    processing: "At least one recipient is being attempted now. Not stored: it holds while a lease is held.",
    sent: "No recipient is open and at least one was accepted.",
    failed: "No recipient is open and none was accepted; also a canceled email.",
  },
  events: {
    taken: "a recipient is in flight",
    deferred: "recipients are open and none is in flight",
    accepted: "the last open recipient ended, and at least one was accepted",
    refused: "the last open recipient ended, and none was accepted",
  },
  transitions: [
    { from: "queued", event: "taken", to: "processing" },
    { from: "processing", event: "deferred", to: "queued" },
    { from: "processing", event: "accepted", to: "sent" },
    { from: "processing", event: "refused", to: "failed" },
    // Without an attempt: the rest was canceled.
    { from: "queued", event: "accepted", to: "sent" },
    { from: "queued", event: "refused", to: "failed" },
  ],
};

/** The event that the counters stand for. */
export function emailEvent({ open, accepted, inFlight }: EmailCounters): EmailEvent {
  if (open === 0) return accepted > 0 ? "accepted" : "refused";
  return inFlight > 0 ? "taken" : "deferred";
}

/** The status after the counters have changed. A bounce that comes later leaves a final status as it is. */
export function next(status: EmailStatus, counters: EmailCounters): EmailStatus {
  return step(emailMachine, status, emailEvent(counters));
}
