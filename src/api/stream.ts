/** StreamEvents: what is stored after a cursor, then each new event as it happens. Pulled by its reader, so that a slow one holds
 * one page and no more. */
import type { StreamEventsRequest } from "../gen/v1/email_pb.ts";
import type { Event } from "../gen/v1/event_pb.ts";
import { Problem } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import type { StoredEvent } from "../store/events.ts";
import { unauthenticated } from "./authenticate.ts";
import type { Call } from "./call.ts";
import { eventOnWire } from "./event-wire.ts";
import { emailOf, readFilter, readKept, searchEnd, startOf } from "./events.ts";
import type { Follower, Subscription } from "./follower.ts";

export type StreamMessage = { cursor: string; event?: Event };
export type StreamDeps = { sql: Sql; follower: Follower; stopping: AbortSignal; heartbeatMs: number };

const pageSize = 200;
/** Short enough for heartbeats to go on while much is looked through. */
const searchSpan = 5000n;

export async function* streamEvents(
  deps: StreamDeps,
  request: StreamEventsRequest,
  call: Call,
): AsyncGenerator<StreamMessage> {
  const { workspaceId, keyId, permission } = call.caller;
  // Clients of server-sent events come back with the same request and this header.
  const { cursor, types } = readFilter({
    types: request.types,
    cursor: call.header("last-event-id") || request.cursor,
  });
  const emailId = await emailOf(deps.sql, workspaceId, request.emailId);
  const subscription = await deps.follower.subscribe(workspaceId, keyId);
  try {
    const { after, last } = await startOf(deps.sql, workspaceId, cursor);
    const log = {
      ...deps,
      workspaceId,
      types,
      emailId,
      subscription,
      end: request.follow === false ? last : undefined,
    };
    // The cursor alone, at once: only with a first message do the headers reach the client.
    yield { cursor: after.toString() };
    let position = after;
    let saidAt = performance.now();
    for (;;) {
      refuseEnded(subscription, deps.stopping, call.life.signal);
      const { events, reached } = await readOn(log, position);
      for (const event of events) {
        yield { cursor: event.number, event: eventOnWire(event, { inboundText: permission === "full" }) };
        saidAt = performance.now();
        refuseEnded(subscription, deps.stopping, call.life.signal);
      }
      position = reached;
      if (log.end !== undefined && position >= log.end) return;
      const quietMs = performance.now() - saidAt;
      if (quietMs >= deps.heartbeatMs) {
        yield { cursor: position.toString() };
        saidAt = performance.now();
      } else if (position >= subscription.head()) await subscription.news(deps.heartbeatMs - quietMs, call.life.signal);
    }
  } finally {
    subscription.close();
  }
}

type FollowedLog = {
  sql: Sql;
  workspaceId: string;
  types: readonly string[];
  emailId: string | undefined;
  subscription: Subscription;
  /** Where a stream that does not follow ends. */
  end: bigint | undefined;
};

/** The next wanted events, and the number up to which nothing else is wanted. Live streams are served from memory; behind what
 * is kept there, the store is asked page by page, each page when the reader has taken the one before. */
async function readOn(log: FollowedLog, after: bigint): Promise<{ events: readonly StoredEvent[]; reached: bigint }> {
  const { sql, workspaceId, types, emailId, subscription } = log;
  const wanted = (event: StoredEvent) =>
    (types.length === 0 || types.includes(event.type)) && (emailId === undefined || event.emailId === emailId);
  const recent = log.end === undefined ? subscription.recent(after) : undefined;
  if (recent) return { events: recent.filter(wanted), reached: after + BigInt(recent.length) };
  const last = log.end ?? subscription.head();
  const upTo = searchEnd({ after, last, types, emailId }, searchSpan);
  return await readKept(sql, { workspaceId, after, upTo, limit: pageSize, types, emailId });
}

function refuseEnded(subscription: Subscription, stopping: AbortSignal, signal: AbortSignal): void {
  if (stopping.aborted)
    throw new Problem(
      "unavailable",
      "This node is stopping. Resume from the last cursor, on another node or in a moment.",
      {
        retryAfterMs: 1000,
      },
    );
  if (subscription.revoked()) throw unauthenticated();
  if (!signal.aborted) return;
  if (signal.reason instanceof Problem) throw signal.reason;
  // Connect's own reason for a passed deadline has the code 4.
  if ((signal.reason as { code?: unknown } | undefined)?.code === 4)
    throw new Problem("deadline_exceeded", "The deadline of the call has passed. Resume from the last cursor.");
  throw new Problem("canceled", "The reader has gone.");
}
