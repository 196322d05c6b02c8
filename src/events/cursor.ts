/** Finds the place in the log that a request's cursor names, and reports a cursor that is no longer valid: its event was deleted by
 * retention, or a restore or a failover lost it. Called by service.ts. */
import { invalid, Problem, type Violation } from "../ops/problem.ts";
import { fromWireId, toWireId, uuidTime } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { type Cursor, cursorText, lastShared, parseCursor } from "./rules.ts";
import { eventIdAt, type LogBounds, lastEventBefore } from "./store.ts";
import { eventTypes } from "./wire.ts";

export type LogFilter = {
  cursor: Cursor | "latest";
  /** The id of the event at the cursor, if the client has sent it. */
  eventId: string | undefined;
  types: readonly string[];
};

type FilterRequest = { cursor: string; types: readonly string[]; afterEventId: string };

/** Checks the cursor and the types, and reports everything that is wrong at once. */
export function readFilter(request: FilterRequest, problems: Violation[] = []): LogFilter {
  const { types } = request;
  const cursor = request.cursor === "latest" ? request.cursor : parseCursor(request.cursor || "0");
  if (!cursor)
    problems.push({
      field: "cursor",
      description: 'must be the cursor of an event, "latest", or empty for the oldest event',
    });
  const eventId = request.afterEventId === "" ? undefined : fromWireId("event", request.afterEventId);
  if (request.afterEventId !== "" && !eventId)
    problems.push({
      field: "afterEventId",
      description: "must be the id of an event, which starts with evt_, or empty",
    });
  else if (eventId && (cursor === "latest" || cursor?.number === 0n))
    problems.push({ field: "afterEventId", description: "needs the cursor of that event in `cursor`" });
  for (const [i, type] of types.entries()) {
    // A long list must not cause a large response.
    if (problems.length >= 50) break;
    if (!(eventTypes as readonly string[]).includes(type))
      problems.push({
        field: `types[${i}]`,
        description: `is not an event type; use one of ${eventTypes.join(", ")}`,
      });
  }
  if (!cursor || problems.length > 0) throw invalid(problems);
  return { cursor, eventId, types };
}

/** The number to read after. `0` means the beginning of the retained log. */
export async function resolveCursor(
  sql: Sql,
  workspaceId: string,
  { cursor, eventId }: LogFilter,
  bounds: LogBounds,
): Promise<bigint> {
  const { oldest, last, cuts } = bounds;
  if (cursor === "latest") return last;
  const { number } = cursor;
  if (number === 0n) return oldest - 1n;
  const shared = lastShared(cursor, cuts);
  if (shared !== undefined && number > shared) {
    // A log that does not know the cut was restored to a time before it, and may share less.
    const isKnown = cursor.cut === undefined || cuts.includes(cursor.cut);
    const before = eventId && !isKnown ? await sharedBefore(sql, workspaceId, { eventId, number, bounds }) : shared;
    throw await cutProblem(sql, workspaceId, { shared: before < shared ? before : shared, bounds });
  }
  const isStored = number >= oldest && number <= last;
  const storedId = eventId && isStored ? await eventIdAt(sql, workspaceId, number) : undefined;
  if (eventId && number >= oldest && storedId !== eventId)
    throw await cutProblem(sql, workspaceId, {
      shared: await sharedBefore(sql, workspaceId, { eventId, number, bounds }),
      bounds,
    });
  if (number < oldest - 1n || number > last) throw outOfRange(number, bounds);
  return number;
}

/** Clocks of servers may differ by this much. */
const clockDifferenceMs = 60_000;

/**
 * The log was cut, and the cut is not recorded. Events that were written after the cut are younger than the client's last event, so the two
 * logs share what is older.
 */
export async function sharedBefore(
  sql: Sql,
  workspaceId: string,
  { eventId, number, bounds }: { eventId: string; number: bigint; bounds: LogBounds },
): Promise<bigint> {
  const time = new Date(uuidTime(eventId) - clockDifferenceMs);
  const older = await lastEventBefore(sql, workspaceId, time, bounds);
  return older < number ? older : number - 1n;
}

/**
 * The error that names the cursor to resume from. Events up to `shared` are the same in the log that the client has read and in the one with
 * these bounds. If retention has deleted some of the events after it, resuming fails as out of range.
 */
export async function cutProblem(
  sql: Sql,
  workspaceId: string,
  { shared, bounds }: { shared: bigint; bounds: LogBounds },
): Promise<Problem> {
  const last = shared < bounds.last ? shared : bounds.last;
  const lastSharedCursor = cursorText(last, bounds.cuts);
  const id = await eventIdAt(sql, workspaceId, last);
  const metadata: Record<string, string> = { lastSharedCursor };
  if (id !== undefined) metadata.lastSharedEventId = toWireId("event", id);
  return new Problem(
    "out_of_range",
    `The database lost events that this client has read: it was restored, or a standby took over. Resume from cursor ${lastSharedCursor}; the events after it are new.`,
    { reason: "LOG_CUT", metadata },
  );
}

export function outOfRange(cursor: bigint, { oldest, last }: LogBounds): Problem {
  return new Problem(
    "out_of_range",
    `cursor ${cursor} is out of range: the oldest event is ${oldest}, the newest ${last}. Start again with "0", or with "latest" for new events only.`,
  );
}
