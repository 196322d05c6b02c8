/** ListEvents, and what a cursor means: the same for lists and streams. */
import type { ListEventsRequest } from "../gen/v1/email_pb.ts";
import { invalid, notFound, Problem, type Violation } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { getEmail } from "../store/email-reads.ts";
import { type EventPage, eventBounds, readEventPage, type StoredEvent } from "../store/events.ts";
import { fromWireId } from "../store/ids.ts";
import type { Call } from "./call.ts";
import { eventOnWire, eventTypes } from "./event-wire.ts";

const defaultPageSize = 50;
const maxPageSize = 500;
/** Far from the time-out of statements, also on a slow disk. */
const listSpan = 50_000n;

export async function listEvents(sql: Sql, request: ListEventsRequest, call: Call) {
  const { workspaceId, permission } = call.caller;
  const problems: Violation[] = [];
  if (request.pageSize < 0)
    problems.push({ field: "pageSize", description: `must not be negative, is ${request.pageSize}` });
  const { cursor, types } = readFilter(request, problems);
  const emailId = await emailOf(sql, workspaceId, request.emailId);
  const { after, last } = await startOf(sql, workspaceId, cursor);
  const limit = Math.min(request.pageSize || defaultPageSize, maxPageSize);
  const upTo = searchEnd({ after, last, types, emailId }, listSpan);
  const { events, reached } = await readKept(sql, { workspaceId, after, upTo, limit, types, emailId });
  return {
    data: events.map((row) => ({
      cursor: row.number,
      event: eventOnWire(row, { inboundText: permission === "full" }),
    })),
    nextCursor: reached.toString(),
    hasMore: reached < last,
  };
}

/** No index knows types: only so many numbers are looked through in one statement. The rest is for the next page. */
export function searchEnd(
  search: { after: bigint; last: bigint; types: readonly string[]; emailId: string | undefined },
  span: bigint,
): bigint {
  const { after, last, types, emailId } = search;
  return types.length > 0 && emailId === undefined && last > after + span ? after + span : last;
}

/** Checks what needs no look-up, all at once. */
export function readFilter(request: { cursor: string; types: readonly string[] }, problems: Violation[] = []) {
  const { cursor, types } = request;
  if (cursor !== "" && cursor !== "latest" && !/^\d{1,100}$/.test(cursor)) {
    problems.push({
      field: "cursor",
      description: 'must be a decimal number that an event came with, "latest", or empty for the beginning',
    });
  }
  for (const [i, type] of types.entries()) {
    // A list without end must not make an answer without end.
    if (problems.length >= 50) break;
    if (!(eventTypes as readonly string[]).includes(type))
      problems.push({ field: `types[${i}]`, description: `is no event type; there are ${eventTypes.join(", ")}` });
  }
  if (problems.length > 0) throw invalid(problems);
  return { cursor, types };
}

/** The number to read after, and the newest there is. `0` and empty mean the oldest kept event. */
export async function startOf(sql: Sql, workspaceId: string, cursor: string): Promise<{ after: bigint; last: bigint }> {
  const { oldest, last } = await eventBounds(sql, workspaceId);
  if (cursor === "latest") return { after: last, last };
  const asked = cursor === "" ? 0n : BigInt(cursor);
  if (asked === 0n) return { after: oldest - 1n, last };
  if (asked < oldest - 1n || asked > last) throw outOfRange(asked, { oldest, last });
  return { after: asked, last };
}

/**
 * Events after a number, sure to be all there are up to `reached`. A log can be cut at its old end while it is read: then the
 * reader learns that it came too late, and never sees a hole.
 */
export async function readKept(
  sql: Sql,
  page: EventPage & { upTo: bigint },
): Promise<{ events: StoredEvent[]; reached: bigint }> {
  const { events, complete } = await readEventPage(sql, page);
  // Past the last event shown, the numbers up to the end of the range were looked at and found not to be wanted.
  const reached = complete ? page.upTo : BigInt(events.at(-1)!.number);
  const filtered = page.emailId !== undefined || (page.types?.length ?? 0) > 0;
  // Without a filter the numbers follow one another.
  if (!filtered && reached === page.after + BigInt(events.length)) return { events, reached };
  const bounds = await eventBounds(sql, page.workspaceId);
  if (page.after < bounds.oldest - 1n) throw outOfRange(page.after, bounds);
  if (!filtered) throw new Error(`the event log of ${page.workspaceId} has a hole after ${page.after}`);
  return { events, reached };
}

function outOfRange(asked: bigint, { oldest, last }: { oldest: bigint; last: bigint }): Problem {
  return new Problem(
    "out_of_range",
    `cursor ${asked} is outside of what is kept: the oldest event is ${oldest}, the newest ${last}. Start again with "0", or with "latest" for new events only.`,
  );
}

export async function emailOf(sql: Sql, workspaceId: string, wireId: string): Promise<string | undefined> {
  if (wireId === "") return undefined;
  const id = fromWireId("email", wireId);
  if (!id || !(await getEmail(sql, workspaceId, id))) throw notFound("email", wireId);
  return id;
}
