/** StreamEvents: what is stored after a cursor, then each new event as it happens. Pulled by its reader, so that a slow one holds no memory. */
import type { StreamEventsRequest } from "../gen/v1/email_pb.ts";
import type { Event } from "../gen/v1/event_pb.ts";
import { Problem } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { eventBounds, readEvents, type StoredEvent } from "../store/events.ts";
import { unauthenticated } from "./authenticate.ts";
import type { Call } from "./call.ts";
import { eventOnWire } from "./event-wire.ts";
import { emailOf, readFilter, startOf } from "./events.ts";
import type { Follower } from "./follower.ts";

export type StreamMessage = { cursor: string; event?: Event };

const pageSize = 200;

export async function* streamEvents(
  deps: { sql: Sql; follower: Follower; stopping: AbortSignal; heartbeatMs: number },
  request: StreamEventsRequest,
  call: Call,
): AsyncGenerator<StreamMessage> {
  const { workspaceId, keyId, permission } = call.caller;
  const { types } = readFilter(request);
  const [after, emailId] = await Promise.all([
    startOf(deps.sql, workspaceId, request.cursor),
    emailOf(deps.sql, workspaceId, request.emailId),
  ]);
  const wanted = (event: StoredEvent) =>
    (types.length === 0 || types.includes(event.type)) && (emailId === undefined || event.emailId === emailId);
  const subscription = await deps.follower.subscribe(workspaceId, keyId);
  try {
    let position = after;
    let since: Date | undefined;
    const tail = request.follow === false ? (await eventBounds(deps.sql, workspaceId)).last : 0n;
    let saidAt = performance.now();
    // The cursor alone, at once: only with a first message do the headers reach the client.
    yield { cursor: position.toString() };
    for (;;) {
      refuseEnded(subscription.revoked(), deps.stopping, call.signal);
      // Behind what is kept in memory, the store is asked page by page, each page when the reader has taken the one before.
      const events =
        subscription.recent(position) ??
        (await readEvents(deps.sql, { workspaceId, after: position, limit: pageSize, since }));
      for (const event of events) {
        position = BigInt(event.number);
        since = event.createdAt;
        if (!wanted(event)) continue;
        yield { cursor: event.number, event: eventOnWire(event, { inboundText: permission === "full" }) };
        saidAt = performance.now();
        refuseEnded(subscription.revoked(), deps.stopping, call.signal);
      }
      if (position < subscription.head()) continue;
      if (request.follow === false && position >= tail) return;
      const quietMs = performance.now() - saidAt;
      await subscription.news(Math.max(0, deps.heartbeatMs - quietMs), call.signal);
      if (position >= subscription.head() && performance.now() - saidAt >= deps.heartbeatMs) {
        refuseEnded(subscription.revoked(), deps.stopping, call.signal);
        yield { cursor: position.toString() };
        saidAt = performance.now();
      }
    }
  } finally {
    subscription.close();
  }
}

function refuseEnded(revoked: boolean, stopping: AbortSignal, signal: AbortSignal): void {
  if (stopping.aborted)
    throw new Problem("unavailable", "This node is stopping. Resume from the last cursor on another one.", {
      retryAfterMs: 1000,
    });
  if (revoked) throw unauthenticated();
  if (signal.aborted) throw signal.reason;
}
