/** Follows the event stream: connects, keeps the newest events, resumes from the last cursor when the connection breaks. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { useEffect, useState } from "react";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import type { Event } from "../../../src/gen/v1/event_pb.ts";
import { leaveIfRefused, transport } from "../api/transport.ts";

export interface TailEntry {
  cursor: string;
  event: Event;
}

export interface Tail {
  /** Newest first. */
  entries: TailEntry[];
  /** Where to go on from: all before it was seen. */
  cursor: string | undefined;
  state: "connecting" | "live" | "broken" | "ended";
  error: unknown;
}

export interface TailFilter {
  /** Undefined: a little before the newest. */
  from: string | undefined;
  types: readonly string[];
  emailId: string;
}

/** Older ones are let go: this is a window on the stream, not the log. */
export const keptEvents = 500;
const beforeNewest = 50;
const retryMs = 2_000;
/** Trying again would end the same way. */
const lasting = new Set([
  ...[Code.InvalidArgument, Code.OutOfRange, Code.NotFound, Code.PermissionDenied, Code.Unauthenticated],
  Code.Unimplemented,
]);

const empty: Tail = { entries: [], cursor: undefined, state: "connecting", error: undefined };

/** `filter` must keep its identity while it stays the same. */
export function useTail(filter: TailFilter, isPaused: boolean): Tail {
  const [tail, setTail] = useState<Tail>(empty);
  const [shown, setShown] = useState(filter);
  if (shown !== filter) {
    setShown(filter);
    setTail(empty);
  }
  useEffect(() => {
    if (isPaused) return;
    const stop = new AbortController();
    let resume: string | undefined;
    // A pause goes on where it stopped; another filter begins anew.
    setTail((before) => {
      resume = before.cursor;
      return { ...before, state: "connecting", error: undefined };
    });
    void follow({ ...filter, stop: stop.signal, resume: () => resume, setTail });
    return () => stop.abort();
  }, [filter, isPaused]);
  return tail;
}

type Following = TailFilter & {
  stop: AbortSignal;
  resume(): string | undefined;
  setTail(change: (before: Tail) => Tail): void;
};

async function follow({ from, types, emailId, stop, resume, setTail }: Following): Promise<void> {
  // React may run the change of state above a moment later.
  await Promise.resolve();
  let cursor = resume() ?? from;
  while (!stop.aborted) {
    try {
      cursor ??= await nearNewest(stop);
      const options = { signal: stop, timeoutMs: 0 };
      const request = { cursor, types: [...types], emailId };
      for await (const message of createClient(EmailService, transport).streamEvents(request, options)) {
        cursor = message.cursor;
        const entry = message.event && { cursor: message.cursor, event: message.event };
        setTail((before) => ({
          ...{ state: "live", error: undefined, cursor: message.cursor },
          entries: entry ? [entry, ...before.entries].slice(0, keptEvents) : before.entries,
        }));
      }
    } catch (error) {
      if (stop.aborted) return;
      leaveIfRefused(error);
      const isLasting = lasting.has(ConnectError.from(error).code);
      setTail((before) => ({ ...before, state: isLasting ? "ended" : "broken", error }));
      if (isLasting) return;
    }
    await pause(retryMs, stop);
  }
}

/** Cursors have no gaps: a little before the newest is a plain subtraction, unless so much is not kept any more. */
async function nearNewest(signal: AbortSignal): Promise<string> {
  const client = createClient(EmailService, transport);
  const { nextCursor } = await client.listEvents({ cursor: "latest", pageSize: 1 }, { signal });
  const start = BigInt(nextCursor) - BigInt(beforeNewest);
  if (start <= 0n) return "0";
  try {
    await client.listEvents({ cursor: String(start), pageSize: 1 }, { signal });
    return String(start);
  } catch (error) {
    if (ConnectError.from(error).code === Code.OutOfRange) return "0";
    throw error;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
