/** Follows the event stream for the events page: keeps the newest events, and resumes from the last cursor after a lost connection. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { useEffect, useState } from "react";
import { ErrorInfoSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import type { Event } from "../../../src/gen/v1/event_pb.ts";
import { endSessionIfUnauthenticated, transport } from "../api/transport.ts";

export interface TailEntry {
  cursor: string;
  event: Event;
}

export interface Tail {
  /** Newest first. */
  entries: TailEntry[];
  /** The cursor of the last message: the stream resumes after it. */
  cursor: string | undefined;
  state: "connecting" | "live" | "broken" | "ended";
  /** When the last message or heartbeat arrived. 0 before the first. */
  updatedAt: number;
  error: unknown;
}

export interface TailFilter {
  /** The cursor to start after. Undefined: start with the last `initialEvents` events. */
  from: string | undefined;
  types: readonly string[];
  emailId: string;
}

/** Older events are dropped from the page. */
export const maxEvents = 500;
/** How many stored events the page shows when it opens. */
export const initialEvents = 50;
const retryMs = 2_000;
/** Errors that a retry cannot fix. */
const permanentCodes = new Set([
  ...[Code.InvalidArgument, Code.OutOfRange, Code.NotFound, Code.PermissionDenied, Code.Unauthenticated],
  Code.Unimplemented,
]);

const empty: Tail = { entries: [], cursor: undefined, state: "connecting", updatedAt: 0, error: undefined };

/** The caller must memoise `filter`: a new object restarts the stream. */
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
    // After a pause the stream resumes; with a new filter it starts again.
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
  // React may run the state update that sets `resume` after this function is called.
  await Promise.resolve();
  let cursor = resume() ?? from;
  while (!stop.aborted) {
    try {
      cursor ??= await cursorBeforeNewest(stop);
      const options = { signal: stop, timeoutMs: 0 };
      const request = { cursor, types: [...types], emailId };
      for await (const message of createClient(EmailService, transport).streamEvents(request, options)) {
        cursor = message.cursor;
        const entry = message.event && { cursor: message.cursor, event: message.event };
        setTail((before) => ({
          state: "live",
          updatedAt: Date.now(),
          error: undefined,
          cursor: message.cursor,
          entries: entry ? [entry, ...before.entries].slice(0, maxEvents) : before.entries,
        }));
      }
    } catch (error) {
      if (stop.aborted) return;
      endSessionIfUnauthenticated(error);
      const shared = lastSharedCursor(error);
      const isPermanent = shared === undefined && permanentCodes.has(ConnectError.from(error).code);
      setTail((before) => ({
        ...before,
        state: isPermanent ? "ended" : "broken",
        error,
        entries: shared === undefined ? before.entries : before.entries.filter((entry) => isUpTo(entry, shared)),
      }));
      if (isPermanent) return;
      cursor = shared ?? cursor;
    }
    await pause(retryMs, stop);
  }
}

/** The cursor to resume from after the database lost the end of the log. */
function lastSharedCursor(error: unknown): string | undefined {
  const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema);
  return info?.reason === "LOG_CUT" ? info.metadata.lastSharedCursor : undefined;
}

function isUpTo({ cursor }: TailEntry, last: string): boolean {
  return numberOf(cursor) <= numberOf(last);
}

/** After a cut of the log, its name follows the number. */
function numberOf(cursor: string): bigint {
  return BigInt(cursor.split("-")[0]!);
}

/** Subtracts from the number in the newest cursor, because numbers have no gaps. Returns 0 when fewer events are stored. */
async function cursorBeforeNewest(signal: AbortSignal): Promise<string> {
  const client = createClient(EmailService, transport);
  const { nextCursor } = await client.listEvents({ cursor: "latest", pageSize: 1 }, { signal });
  const start = numberOf(nextCursor) - BigInt(initialEvents);
  if (start <= 0n) return "0";
  const cursor = nextCursor.replace(/^\d+/, String(start));
  try {
    await client.listEvents({ cursor, pageSize: 1 }, { signal });
    return cursor;
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
