/** How the queue names the state of a destination, and how far a retry has come. */
import { type Destination, DestinationState } from "../../../src/gen/v1/queue_pb.ts";
import type { Tone } from "../parts/outcome.tsx";

export type DestinationLabel = { text: string; tone: Tone; meaning: string };

type Counts = Pick<Destination, "queued" | "scheduled" | "delayed" | "inFlight">;

/** The recipients that wait for their first attempt. */
export function waitingOf({ queued, scheduled, delayed }: Counts): number {
  return Math.max(0, queued - scheduled - delayed);
}

/** The recipients in the queue, without those of emails that are scheduled for later. */
export function dueOf({ queued, scheduled, inFlight }: Counts): number {
  return Math.max(0, queued - scheduled) + inFlight;
}

export function destinationLabel(one: Destination): DestinationLabel {
  if (one.state === DestinationState.PAUSED)
    return { text: "Paused", tone: "suppressed", meaning: "Mail waits until you resume it." };
  if (one.stalledSince)
    return {
      text: "Not answering",
      tone: "failed",
      meaning: "The receiver leaves connections open without an answer. One email at a time probes it; the rest waits.",
    };
  if (one.state === DestinationState.BACKING_OFF)
    return { text: "Backing off", tone: "delayed", meaning: "The receiver rejects mail or cannot be reached." };
  if (dueOf(one) === 0 && one.scheduled > 0)
    return {
      text: "Scheduled",
      tone: "queued",
      meaning: "All mail is scheduled for later. None waits for the receiver.",
    };
  return { text: "Active", tone: "delivered", meaning: "Mail is being delivered." };
}

/** `tried`: the recipients that a retry made due. `before`: those in the queue before it, without scheduled ones. */
export type Retried = { destination: string; tried: number; before: number };

export function retryProgress({ destination, tried, before }: Retried, now: number): string {
  const recipients = `${tried === 1 ? "1 recipient" : `${tried.toLocaleString("en")} recipients`} at ${destination}`;
  const left = Math.min(tried, Math.max(0, before - now));
  if (tried === 0) return `No recipient at ${destination} is due: all mail is scheduled for later.`;
  if (left === tried) return `Retried ${recipients}: all have left the queue.`;
  return `Retrying ${recipients} now: ${left === 0 ? "none has" : left === 1 ? "1 has" : `${left.toLocaleString("en")} have`} left the queue so far.`;
}
