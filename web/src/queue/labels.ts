/** How the queue names the state of a destination, and how far a retry has come. */
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
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

/** `tried`: the recipients that a retry made due. `before`: the destination before it. `at`: when it was answered, in milliseconds. */
export type Retried = { destination: string; tried: number; before: Destination; at: number };

/** `now`: the destination as it is, undefined when it has no mail left. `done`: the text is final. */
export function retryProgress(retried: Retried, now: Destination | undefined): { text: string; done: boolean } {
  const { destination, tried, before } = retried;
  const recipients = `${count(tried, "recipient", "recipients")} at ${destination}`;
  const left = Math.min(tried, Math.max(0, dueOf(before) - (now ? dueOf(now) : 0)));
  if (tried === 0)
    return { text: `No recipient at ${destination} is due: all mail is scheduled for later.`, done: true };
  if (!now || left === tried) return { text: `Retried ${recipients}: all have left the queue.`, done: true };
  const gone = `${left === 0 ? "none has" : count(left, "has", "have")} left the queue so far.`;
  const isAnswered = timeOf(now.lastReplyAt) !== timeOf(before.lastReplyAt);
  const text = isAnswered
    ? `Retried ${recipients}: ${gone} The last answer was: ${now.lastReply}`
    : `Retrying ${recipients} now: ${gone}`;
  return { text, done: false };
}

function count(number: number, one: string, many: string): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

function timeOf(at: Timestamp | undefined): number | undefined {
  return at && timestampMs(at);
}
