/** ListEvents and StreamEvents, which are methods of EmailService in the contract: emails/service.ts calls them. Both read cursors and
 * filters in the same way. On the local store, `posthorn events` runs StreamEvents through the same service. */
import type { ListEventsRequest, StreamEventsRequest } from "../gen/v1/email_pb.ts";
import type { Event } from "../gen/v1/event_pb.ts";
import type { Call } from "../http/call.ts";
import { unauthenticated } from "../keys/authenticate.ts";
import { invalid, notFound, Problem, type Violation } from "../ops/problem.ts";
import { fromWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { CatchUp } from "./catch-up.ts";
import type { Follower, Subscription } from "./follower.ts";
import type { Page } from "./page.ts";
import { type EventPage, emailExists, eventBounds, readEventPage, type StoredEvent } from "./store.ts";
import { eventOnWire, eventTypes } from "./wire.ts";

const defaultPageSize = 50;
const maxPageSize = 500;
/** How many event numbers one filtered page searches: well within the statement timeout, also on a slow disk. */
const listSpan = 50_000n;
const streamPageSize = 200n;
/** The same for a stream: short enough for heartbeats to continue during a long search. */
const streamSpan = 5000n;

/** One page of the log. */
export async function listEvents(sql: Sql, request: ListEventsRequest, call: Call) {
  const { workspaceId, permission } = call.caller;
  const problems: Violation[] = [];
  if (request.pageSize < 0)
    problems.push({ field: "pageSize", description: `must not be negative, is ${request.pageSize}` });
  const { cursor, types } = readFilter(request, problems);
  const emailId = await resolveEmail(sql, workspaceId, request.emailId);
  const bounds = await eventBounds(sql, workspaceId);
  const { last } = bounds;
  const after = resolveCursor(cursor, bounds);
  const limit = Math.min(request.pageSize || defaultPageSize, maxPageSize);
  const upTo = searchEnd({ after, last, types, emailId }, listSpan);
  const { events, reached } = await readRetained(sql, { workspaceId, after, upTo, limit, types, emailId });
  return {
    data: events.map((row) => ({
      cursor: row.number,
      event: eventOnWire(row, { inboundText: permission === "full" }),
    })),
    nextCursor: reached.toString(),
    hasMore: reached < last,
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

/** Checks the cursor and the types, and reports everything that is wrong at once. */
export function readFilter(request: { cursor: string; types: readonly string[] }, problems: Violation[] = []) {
  const { cursor, types } = request;
  if (cursor !== "" && cursor !== "latest" && !/^\d{1,100}$/.test(cursor)) {
    problems.push({
      field: "cursor",
      description: 'must be the cursor of an event (a decimal number), "latest", or empty for the oldest event',
    });
  }
  for (const [i, type] of types.entries()) {
    // A long list must not cause a large response.
    if (problems.length >= 50) break;
    if (!(eventTypes as readonly string[]).includes(type))
      problems.push({
        field: `types[${i}]`,
        description: `is not an event type; use one of ${eventTypes.join(", ")}`,
      });
  }
  if (problems.length > 0) throw invalid(problems);
  return { cursor, types };
}

/** The number to read after. `0` and empty mean the beginning of the retained log. */
function resolveCursor(cursor: string, { oldest, last }: { oldest: bigint; last: bigint }): bigint {
  if (cursor === "latest") return last;
  const after = cursor === "" ? 0n : BigInt(cursor);
  if (after === 0n) return oldest - 1n;
  if (after < oldest - 1n || after > last) throw outOfRange(after, { oldest, last });
  return after;
}

/**
 * Events after a number, guaranteed to be complete up to `reached`. Retention can delete old events during the read: the reader then gets
 * `out_of_range` and never a gap.
 */
async function readRetained(
  sql: Sql,
  page: EventPage & { upTo: bigint },
): Promise<{ events: StoredEvent[]; reached: bigint }> {
  const { events, complete } = await readEventPage(sql, page);
  // A complete page has searched the whole range: no number after its last event matches the filter.
  const reached = complete ? page.upTo : BigInt(events.at(-1)!.number);
  const filtered = page.emailId !== undefined || (page.types?.length ?? 0) > 0;
  // Without a filter the numbers are consecutive.
  if (!filtered && reached === page.after + BigInt(events.length)) return { events, reached };
  const bounds = await eventBounds(sql, page.workspaceId);
  if (page.after < bounds.oldest - 1n) throw outOfRange(page.after, bounds);
  if (!filtered) throw new Error(`the event log of ${page.workspaceId} has a gap after ${page.after}`);
  return { events, reached };
}

function outOfRange(cursor: bigint, { oldest, last }: { oldest: bigint; last: bigint }): Problem {
  return new Problem(
    "out_of_range",
    `cursor ${cursor} is out of range: the oldest event is ${oldest}, the newest ${last}. Start again with "0", or with "latest" for new events only.`,
  );
}

/** The id of the email to filter by; undefined without that filter. */
async function resolveEmail(sql: Sql, workspaceId: string, wireId: string): Promise<string | undefined> {
  if (wireId === "") return undefined;
  const id = fromWireId("email", wireId);
  if (!id || !(await emailExists(sql, workspaceId, id))) throw notFound("email", wireId);
  return id;
}

export type StreamMessage = { cursor: string; event?: Event };
export type StreamDeps = {
  sql: Sql;
  follower: Follower;
  catchUp: CatchUp;
  stopping: AbortSignal;
  heartbeatMs: number;
};

/** Yields the stored events after a cursor, then each new event. The client pulls the pages, so a slow client keeps at most one page in
 * memory. */
export async function* streamEvents(
  deps: StreamDeps,
  request: StreamEventsRequest,
  call: Call,
): AsyncGenerator<StreamMessage> {
  const { workspaceId, keyId } = call.caller;
  // Clients of server-sent events reconnect with the same request and this header.
  const { cursor, types } = readFilter({
    types: request.types,
    cursor: call.header("last-event-id") || request.cursor,
  });
  const emailId = await resolveEmail(deps.sql, workspaceId, request.emailId);
  const subscription = await deps.follower.subscribe(workspaceId, keyId);
  try {
    const after = resolveCursor(cursor, subscription.bounds);
    const end = request.follow === false ? subscription.bounds.last : undefined;
    const throwIfOver = () => throwIfEnded(subscription, deps.stopping, call.cancellation.signal);
    const log: FollowedLog = { ...deps, workspaceId, types, emailId, subscription, end, throwIfOver };
    // Send the cursor at once: the headers reach the client only with the first message.
    yield { cursor: after.toString() };
    let position = after;
    let lastMessageAt = performance.now();
    for (;;) {
      throwIfOver();
      const next = await readNext(log, position);
      for await (const message of messagesOf(log, { ...next, after: position }, call)) {
        yield message;
        lastMessageAt = performance.now();
        throwIfOver();
      }
      position = next.page.reached;
      if (end !== undefined && position >= end) return;
      const quietMs = performance.now() - lastMessageAt;
      if (quietMs >= deps.heartbeatMs) {
        yield { cursor: position.toString() };
        lastMessageAt = performance.now();
      } else if (position >= subscription.head())
        await subscription.waitForNews(deps.heartbeatMs - quietMs, call.cancellation.signal);
    }
  } finally {
    subscription.close();
    deps.catchUp.closed();
  }
}

type FollowedLog = {
  sql: Sql;
  catchUp: CatchUp;
  workspaceId: string;
  types: readonly string[];
  emailId: string | undefined;
  subscription: Subscription;
  /** The last number of a stream that does not follow the log. */
  end: bigint | undefined;
  throwIfOver(): void;
};

type NextPage = {
  page: Page;
  kind: "live" | "catching up";
  /** The turn to write, if the stream has taken it already. Must be called. */
  written?: () => void;
};

/** A stream that has this many new events or fewer is live: its events do not wait for streams that catch up. */
const liveEvents = 20;

/** The next events that match the filter, and the number up to which the log was searched. Live streams read from memory. A stream that is
 * further behind reads pages from the store, each one after the client has taken the one before. */
async function readNext(log: FollowedLog, after: bigint): Promise<NextPage> {
  const filter = `${log.types.join()} ${log.emailId ?? ""}`;
  const recent = log.end === undefined ? await readRecent(log, after, filter) : undefined;
  if (recent) return recent;
  const last = log.end ?? log.subscription.head();
  const page = filter === " " ? await readBlock(log, after, last) : await readFiltered(log, { filter, after, last });
  return { page, kind: "catching up" };
}

/** Undefined when the events after this number are no longer in memory. */
async function readRecent(log: FollowedLog, after: bigint, filter: string): Promise<NextPage | undefined> {
  const { catchUp, workspaceId, types, emailId, subscription } = log;
  const matches = (event: StoredEvent) =>
    (types.length === 0 || types.includes(event.type)) && (emailId === undefined || event.emailId === emailId);
  const found = subscription.recent(after);
  if (!found) return undefined;
  const kind = found.length <= liveEvents ? "live" : "catching up";
  // On a busy node more events arrive before the turn. The stream sends them in the same turn.
  const written = found.some(matches) ? await catchUp.turn(workspaceId, kind) : undefined;
  const recent = written ? subscription.recent(after) : found;
  if (!recent) {
    written?.();
    return undefined;
  }
  const reached = after + BigInt(recent.length);
  const content = { events: recent.filter(matches), reached };
  const page = await catchUp.pageInMemory(workspaceId, `recent ${filter} ${after} ${reached}`, content);
  return { page, kind, written };
}

/** Pages without a filter start at multiples of the page size, so that readers with different cursors share them. */
async function readBlock(log: FollowedLog, after: bigint, last: bigint): Promise<Page> {
  const block = after - (after % streamPageSize);
  const upTo = block + streamPageSize < last ? block + streamPageSize : last;
  const read = (from: bigint) =>
    log.catchUp.page(log.workspaceId, `block ${from} ${upTo}`, () =>
      readRetained(log.sql, { workspaceId: log.workspaceId, after: from, upTo, limit: Number(streamPageSize) }),
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
  const { workspaceId, types, emailId } = log;
  const { filter, after, last } = at;
  const upTo = searchEnd({ after, last, types, emailId }, streamSpan);
  return await log.catchUp.page(workspaceId, `${filter} ${after} ${upTo}`, () =>
    readRetained(log.sql, { workspaceId, after, upTo, limit: Number(streamPageSize), types, emailId }),
  );
}

/** The events of a page after a number: as bytes that all streams share, or as messages for a caller without HTTP. */
async function* messagesOf(
  log: FollowedLog,
  { page, kind, after, ...taken }: NextPage & { after: bigint },
  { caller, output }: Call,
): AsyncGenerator<StreamMessage> {
  const inboundText = caller.permission === "full";
  let turn = taken.written;
  for (let at = page.indexAfter(after); at < page.events.length; ) {
    if (!output) {
      turn?.();
      const event = page.events[at++]!;
      yield { cursor: event.number, event: eventOnWire(event, { inboundText }) };
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
    yield { cursor: page.events[at - 1]!.number };
  }
}

function throwIfEnded(subscription: Subscription, stopping: AbortSignal, signal: AbortSignal): void {
  if (stopping.aborted)
    throw new Problem(
      "unavailable",
      "This node is shutting down. Resume from the last cursor, on another node or in a second.",
      {
        retryAfterMs: 1000,
      },
    );
  if (subscription.revoked()) throw unauthenticated();
  if (!signal.aborted) return;
  if (signal.reason instanceof Problem) throw signal.reason;
  // Connect aborts with code 4 when the deadline has passed.
  if ((signal.reason as { code?: unknown } | undefined)?.code === 4)
    throw new Problem("deadline_exceeded", "The deadline of the call has passed. Resume from the last cursor.");
  throw new Problem("canceled", "The client has disconnected.");
}
