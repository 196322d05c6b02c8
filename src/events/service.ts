/** ListEvents and StreamEvents, which are methods of EmailService in the contract: emails/service.ts calls them. Both read cursors and
 * filters in the same way. On the local store, `posthorn events` runs StreamEvents through the same service. */
import type { ListEventsRequest, StreamEventsRequest } from "../gen/v1/email_pb.ts";
import type { Event } from "../gen/v1/event_pb.ts";
import type { Call } from "../http/call.ts";
import { readsInboundText } from "../http/caller.ts";
import type { StreamOutput } from "../http/stream-output.ts";
import { unauthenticated } from "../keys/authenticate.ts";
import { notFound, Problem, type Violation } from "../ops/problem.ts";
import { fromWireId, toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { StreamQuota } from "../quotas/streams.ts";
import type { CatchUp } from "./catch-up.ts";
import { cutProblem, type LogFilter, outOfRange, readFilter, resolveCursor } from "./cursor.ts";
import { type Follower, LogWasCut, type Subscription } from "./follower.ts";
import { choiceKey, liveEvents, matcher, recentKey } from "./live.ts";
import type { Page } from "./page.ts";
import type { PageContent } from "./pages.ts";
import { type Cuts, cursorText, isSameLog, lastSharedSince } from "./rules.ts";
import { type EventPage, emailExists, eventBounds, eventIdAt, readEventPage } from "./store.ts";
import { eventOnWire } from "./wire.ts";

const defaultPageSize = 50;
const maxPageSize = 500;
/** How many event numbers one filtered page searches: well within the statement timeout, also on a slow disk. */
const listSpan = 50_000n;
const streamPageSize = 200n;
/** The same for a stream: short enough for heartbeats to continue during a long search. */
const streamSpan = 5000n;

/** A log that is cut during the call is read again. */
const maxReads = 3;

/** One page of the log. */
export async function listEvents(sql: Sql, request: ListEventsRequest, call: Call) {
  const problems: Violation[] = [];
  if (request.pageSize < 0)
    problems.push({ field: "pageSize", description: `must not be negative, is ${request.pageSize}` });
  const filter = readFilter(request, problems);
  const emailId = await resolveEmail(sql, call.caller.workspaceId, request.emailId);
  const limit = Math.min(request.pageSize || defaultPageSize, maxPageSize);
  for (let reads = 1; ; reads++) {
    try {
      return await readList(sql, { ...filter, emailId, limit }, call);
    } catch (error) {
      if (!(error instanceof LogWasCut) || reads === maxReads) throw error;
    }
  }
}

async function readList(sql: Sql, filter: LogFilter & { emailId: string | undefined; limit: number }, call: Call) {
  const { workspaceId } = call.caller;
  const inboundText = readsInboundText(call.caller);
  const { types, emailId, limit } = filter;
  const bounds = await eventBounds(sql, workspaceId);
  const { last, cuts } = bounds;
  const after = await resolveCursor(sql, workspaceId, filter, bounds);
  const upTo = searchEnd({ after, last, types, emailId }, listSpan);
  const { events, reached } = await readRetained(sql, { workspaceId, after, upTo, limit, types, emailId, cuts });
  const newest = events.at(-1);
  const nextId = newest?.number === reached.toString() ? newest.id : await eventIdAt(sql, workspaceId, reached);
  return {
    data: events.map((row) => ({
      cursor: cursorText(BigInt(row.number), cuts),
      event: eventOnWire(row, { inboundText }),
    })),
    nextCursor: cursorText(reached, cuts),
    hasMore: reached < last,
    nextEventId: nextId ? toWireId("event", nextId) : "",
  };
}

/** There is no index by type, so one statement searches at most `span` numbers. The next page continues from there. */
function searchEnd(
  search: { after: bigint; last: bigint; types: readonly string[]; emailId: string | undefined },
  span: bigint,
): bigint {
  const { after, last, types, emailId } = search;
  return types.length > 0 && emailId === undefined && last > after + span ? after + span : last;
}

/**
 * Events after a number, guaranteed to be complete up to `reached`. Retention can delete old events during the read, and a restore or a
 * failover the newest ones: the reader then gets an error and never a gap.
 */
async function readRetained(sql: Sql, page: EventPage & { upTo: bigint; cuts: Cuts }): Promise<PageContent> {
  const { events, complete, bounds } = await readEventPage(sql, page);
  if (!isSameLog(bounds.cuts, page.cuts)) throw new LogWasCut("the event log was cut");
  // A complete page has searched the whole range: no number after its last event matches the filter.
  const reached = complete ? page.upTo : BigInt(events.at(-1)!.number);
  const content = { events, reached, cuts: page.cuts };
  const filtered = page.emailId !== undefined || (page.types?.length ?? 0) > 0;
  // Without a filter the numbers are consecutive.
  if (!filtered && reached === page.after + BigInt(events.length)) return content;
  if (page.after < bounds.oldest - 1n) throw outOfRange(page.after, bounds);
  if (!filtered) throw new Error(`the event log of ${page.workspaceId} has a gap after ${page.after}`);
  return content;
}

/** The id of the email to filter by; undefined without that filter. */
async function resolveEmail(sql: Sql, workspaceId: string, wireId: string): Promise<string | undefined> {
  if (wireId === "") return undefined;
  const id = fromWireId("email", wireId);
  if (!id || !(await emailExists(sql, workspaceId, id))) throw notFound("email", wireId);
  return id;
}

export type StreamMessage = { cursor: string; event?: Event; eventId?: string };
export type StreamDeps = {
  sql: Sql;
  follower: Follower;
  catchUp: CatchUp;
  stopping: AbortSignal;
  heartbeatMs: number;
  /** Undefined on the command line, which is not limited. */
  streams?: Pick<StreamQuota, "open">;
};

/** A stream other than that of events: counts towards the quota of open streams, and ends with its key and with this node. */
export async function openStream(
  { follower, streams, stopping }: StreamDeps,
  call: Call,
): Promise<{ throwIfOver(): void; close(): void }> {
  const { workspaceId, keyId, limitsVersion } = call.caller;
  const giveBack = await streams?.open(workspaceId);
  try {
    const subscription = await follower.subscribe(workspaceId, { id: keyId, limitsVersion });
    return {
      throwIfOver: () => throwIfEnded(subscription, stopping, call.cancellation.signal, "Start again"),
      close() {
        subscription.close();
        giveBack?.();
      },
    };
  } catch (error) {
    giveBack?.();
    throw error;
  }
}

/** Yields the stored events after a cursor, then each new event. The client pulls the pages, so a slow client keeps at most one page in
 * memory. */
export async function* streamEvents(
  deps: StreamDeps,
  request: StreamEventsRequest,
  call: Call,
): AsyncGenerator<StreamMessage> {
  const { workspaceId, keyId, limitsVersion } = call.caller;
  // Clients of server-sent events reconnect with the same request and this header. It may name another event than the request does.
  const resumed = call.header("last-event-id");
  const filter = readFilter({
    types: request.types,
    cursor: resumed || request.cursor,
    afterEventId: resumed ? "" : request.afterEventId,
  });
  const emailId = await resolveEmail(deps.sql, workspaceId, request.emailId);
  const giveBack = await deps.streams?.open(workspaceId);
  let opened: Subscription | undefined;
  try {
    const subscription = await deps.follower.subscribe(workspaceId, { id: keyId, limitsVersion });
    opened = subscription;
    const { bounds } = subscription;
    const after = await deps.catchUp.read(workspaceId, () => resolveCursor(deps.sql, workspaceId, filter, bounds));
    const end = request.follow === false ? bounds.last : undefined;
    const throwIfOver = () => throwIfEnded(subscription, deps.stopping, call.cancellation.signal);
    const log: FollowedLog = {
      ...deps,
      workspaceId,
      types: filter.types,
      emailId,
      subscription,
      cuts: bounds.cuts,
      end,
      withEventIds: request.withEventIds,
      throwIfOver,
    };
    // Send the cursor at once: the headers reach the client only with the first message.
    yield cursorMessage(log, after, filter.eventId ?? (after === bounds.last ? bounds.lastId : undefined));
    let position = after;
    let lastMessageAt = performance.now();
    for (;;) {
      throwIfOver();
      const next = await readNext(log, position).catch((error) => continueAfterCut(log, position, error));
      if (!next) continue;
      for await (const message of messagesOf(log, { ...next, after: position }, call)) {
        yield message;
        lastMessageAt = performance.now();
        throwIfOver();
      }
      position = next.page.reached;
      if (end !== undefined && position >= end) return;
      const quietMs = performance.now() - lastMessageAt;
      const isCaughtUp = position >= subscription.head();
      if (quietMs >= deps.heartbeatMs) {
        yield cursorMessage(log, position, position === subscription.head() ? subscription.headId() : undefined);
        lastMessageAt = performance.now();
      } else if (isCaughtUp && call.output && end === undefined) {
        const live = await stayLive(log, { position, forMs: deps.heartbeatMs - quietMs, output: call.output }, call);
        position = live.position;
        lastMessageAt = live.pushedAt ?? lastMessageAt;
      } else if (isCaughtUp) await subscription.waitForNews(deps.heartbeatMs - quietMs, call.cancellation.signal);
    }
  } finally {
    giveBack?.();
    if (opened) {
      opened.close();
      deps.catchUp.closed();
    }
  }
}

/** New events are pushed to the stream until it must do something by itself: send a heartbeat, end, or wait for its client. */
async function stayLive(
  { subscription, cuts, types, emailId }: FollowedLog,
  { position, forMs, output }: { position: bigint; forMs: number; output: StreamOutput },
  { caller, cancellation }: Call,
): Promise<{ position: bigint; pushedAt: number | undefined }> {
  const inboundText = readsInboundText(caller);
  const live = subscription.goLive({ position, cuts, types, emailId, inboundText, output });
  try {
    await subscription.waitForNews(forMs, cancellation.signal);
    live.leave();
    await output.drained();
    return { position: live.position(), pushedAt: live.pushedAt() };
  } finally {
    live.leave();
    live.release();
  }
}

function cursorMessage(log: FollowedLog, number: bigint, id: string | undefined): StreamMessage {
  const eventId = log.withEventIds && id !== undefined ? toWireId("event", id) : undefined;
  return { cursor: cursorText(number, log.cuts), eventId };
}

/** A stream that has read nothing of the lost part continues in the new log. Throws for other streams and other errors. */
async function continueAfterCut(log: FollowedLog, position: bigint, error: unknown): Promise<undefined> {
  if (!(error instanceof LogWasCut)) throw error;
  // The page may be a shared one, read for a stream that knew less.
  await log.subscription.refresh();
  const cuts = log.subscription.cuts();
  const shared = lastSharedSince(log.cuts, cuts);
  log.cuts = cuts;
  if (shared === undefined) return;
  if (position > shared) {
    const bounds = await eventBounds(log.sql, log.workspaceId);
    throw await cutProblem(log.sql, log.workspaceId, { shared, bounds: { ...bounds, cuts } });
  }
  if (log.end !== undefined && log.end > shared) log.end = shared;
}

type FollowedLog = {
  sql: Sql;
  catchUp: CatchUp;
  workspaceId: string;
  types: readonly string[];
  emailId: string | undefined;
  subscription: Subscription;
  /** The cuts of the log whose numbers the stream uses. */
  cuts: Cuts;
  /** The last number of a stream that does not follow the log. */
  end: bigint | undefined;
  /** Messages without an event have the id of the event at their cursor. */
  withEventIds: boolean;
  throwIfOver(): void;
};

type NextPage = {
  page: Page;
  kind: "live" | "catching up";
  /** The turn to write, if the stream has taken it already. Must be called. */
  written?: () => void;
};

/** The next events that match the filter, and the number up to which the log was searched. Live streams read from memory. A stream that is
 * further behind reads pages from the store, each one after the client has taken the one before. */
async function readNext(log: FollowedLog, after: bigint): Promise<NextPage> {
  const filter = choiceKey(log);
  const recent = log.end === undefined ? await readRecent(log, after) : undefined;
  if (recent) return recent;
  const last = log.end ?? log.subscription.head();
  const page = filter === " " ? await readBlock(log, after, last) : await readFiltered(log, { filter, after, last });
  return { page, kind: "catching up" };
}

/** Undefined when the events after this number are no longer in memory. */
async function readRecent(log: FollowedLog, after: bigint): Promise<NextPage | undefined> {
  const { catchUp, workspaceId, subscription, cuts } = log;
  const matches = matcher(log);
  const found = subscription.recent(after, cuts);
  if (!found) return undefined;
  const kind = found.length <= liveEvents ? "live" : "catching up";
  const written = found.some(matches) ? await catchUp.turn(workspaceId, kind) : undefined;
  try {
    // On a busy node more events arrive before the turn. The stream sends them in the same turn.
    const recent = written ? subscription.recent(after, cuts) : found;
    if (!recent) {
      written?.();
      return undefined;
    }
    const reached = after + BigInt(recent.length);
    const content = { events: recent.filter(matches), reached, cuts };
    const key = recentKey(log, cursorText(after, cuts), cursorText(reached, cuts));
    return { page: await catchUp.pageInMemory(workspaceId, key, content), kind, written };
  } catch (error) {
    written?.();
    throw error;
  }
}

/** Pages without a filter start at multiples of the page size, so that readers with different cursors share them. */
async function readBlock(log: FollowedLog, after: bigint, last: bigint): Promise<Page> {
  const { workspaceId, cuts } = log;
  const block = after - (after % streamPageSize);
  const upTo = block + streamPageSize < last ? block + streamPageSize : last;
  const read = (from: bigint) =>
    log.catchUp.page(workspaceId, `block ${from} ${cursorText(upTo, cuts)}`, () =>
      readRetained(log.sql, { workspaceId, after: from, upTo, limit: Number(streamPageSize), cuts }),
    );
  if (block < after && block >= log.subscription.bounds.oldest - 1n) {
    // Retention may have deleted the start of the block meanwhile.
    const page = await read(block).catch(ignoreOutOfRange);
    // A page of large events ends before the end of its block.
    if (page && page.reached > after) return page;
  }
  return await read(after);
}

function ignoreOutOfRange(error: unknown): undefined {
  if (!(error instanceof Problem && error.code === "out_of_range")) throw error;
}

async function readFiltered(log: FollowedLog, at: { filter: string; after: bigint; last: bigint }): Promise<Page> {
  const { workspaceId, types, emailId, cuts } = log;
  const { filter, after, last } = at;
  const upTo = searchEnd({ after, last, types, emailId }, streamSpan);
  return await log.catchUp.page(workspaceId, `${filter} ${after} ${cursorText(upTo, cuts)}`, () =>
    readRetained(log.sql, { workspaceId, after, upTo, limit: Number(streamPageSize), types, emailId, cuts }),
  );
}

/** The events of a page after a number: as bytes that all streams share, or as messages for a caller without HTTP. */
async function* messagesOf(
  log: FollowedLog,
  { page, kind, after, ...taken }: NextPage & { after: bigint },
  { caller, output }: Call,
): AsyncGenerator<StreamMessage> {
  const inboundText = readsInboundText(caller);
  let turn = taken.written;
  for (let at = page.indexAfter(after); at < page.events.length; ) {
    if (!output) {
      turn?.();
      yield { cursor: page.cursorAt(at), event: eventOnWire(page.events[at]!, { inboundText }) };
      at++;
      continue;
    }
    const written = turn ?? (await log.catchUp.turn(log.workspaceId, kind));
    turn = undefined;
    try {
      log.throwIfOver();
      const encoded = await page.encoded(output.format(), { inboundText });
      const piece = log.catchUp.hold(log.workspaceId, encoded, at);
      output.replaceNext(piece.bytes, () => {
        piece.release();
        written();
      });
      at = piece.end;
    } catch (error) {
      written();
      throw error;
    }
    yield { cursor: page.cursorAt(at - 1) };
  }
}

function throwIfEnded(
  subscription: Subscription,
  stopping: AbortSignal,
  signal: AbortSignal,
  advice = "Resume from the last cursor",
): void {
  if (stopping.aborted)
    throw new Problem("unavailable", `This node is shutting down. ${advice}, on another node or in a second.`, {
      retryAfterMs: 1000,
    });
  const ended = subscription.ended();
  if (ended === "revoked") throw unauthenticated();
  if (ended === "changed")
    throw new Problem("unavailable", `The limits of the key were changed. ${advice}.`, {
      retryAfterMs: 1000,
    });
  if (!signal.aborted) return;
  if (signal.reason instanceof Problem) throw signal.reason;
  // Connect aborts with code 4 when the deadline has passed.
  if ((signal.reason as { code?: unknown } | undefined)?.code === 4)
    throw new Problem("deadline_exceeded", `The deadline of the call has passed. ${advice}.`);
  throw new Problem("canceled", "The client has disconnected.");
}
