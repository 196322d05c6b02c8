/** ListEvents, and what a cursor means: the same for lists and streams. */
import type { ListEventsRequest } from "../gen/v1/email_pb.ts";
import { invalid, notFound, Problem, type Violation } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { getEmail } from "../store/email-reads.ts";
import { eventBounds, readEvents } from "../store/events.ts";
import { fromWireId } from "../store/ids.ts";
import type { Call } from "./call.ts";
import { eventOnWire, eventTypes } from "./event-wire.ts";

const defaultPageSize = 50;
const maxPageSize = 500;

export async function listEvents(sql: Sql, request: ListEventsRequest, call: Call) {
  const { workspaceId, permission } = call.caller;
  const problems: Violation[] = [];
  if (request.pageSize < 0)
    problems.push({ field: "pageSize", description: `must not be negative, is ${request.pageSize}` });
  const filter = readFilter(request, problems);
  const after = await startOf(sql, workspaceId, filter.cursor);
  const emailId = await emailOf(sql, workspaceId, request.emailId);
  const limit = Math.min(request.pageSize || defaultPageSize, maxPageSize);
  const rows = await readEvents(sql, { workspaceId, after, limit: limit + 1, types: filter.types, emailId });
  const shown = rows.slice(0, limit);
  return {
    data: shown.map((row) => ({ cursor: row.number, event: eventOnWire(row, { inboundText: permission === "full" }) })),
    nextCursor: shown.at(-1)?.number ?? after.toString(),
    hasMore: rows.length > limit,
  };
}

/** Checks what needs no look-up, all at once. */
export function readFilter(request: { cursor: string; types: readonly string[] }, problems: Violation[] = []) {
  const { cursor, types } = request;
  if (cursor !== "" && cursor !== "latest" && !/^\d{1,18}$/.test(cursor)) {
    problems.push({
      field: "cursor",
      description: 'must be a decimal number that an event came with, "latest", or empty for the beginning',
    });
  }
  for (const [i, type] of types.entries()) {
    if (!(eventTypes as readonly string[]).includes(type))
      problems.push({ field: `types[${i}]`, description: `is no event type; there are ${eventTypes.join(", ")}` });
  }
  if (problems.length > 0) throw invalid(problems);
  return { cursor, types };
}

/** The number to read after. `0` and empty mean the oldest kept event; a number outside of what is kept is refused with the bounds. */
export async function startOf(sql: Sql, workspaceId: string, cursor: string): Promise<bigint> {
  const { oldest, last } = await eventBounds(sql, workspaceId);
  if (cursor === "latest") return last;
  const asked = cursor === "" ? 0n : BigInt(cursor);
  if (asked === 0n) return oldest - 1n;
  if (asked < oldest - 1n || asked > last) {
    throw new Problem(
      "out_of_range",
      `cursor ${asked} is outside of what is kept: the oldest event is ${oldest}, the newest ${last}. Start again with "0", or with "latest" for new events only.`,
    );
  }
  return asked;
}

export async function emailOf(sql: Sql, workspaceId: string, wireId: string): Promise<string | undefined> {
  if (wireId === "") return undefined;
  const id = fromWireId("email", wireId);
  if (!id || !(await getEmail(sql, workspaceId, id))) throw notFound("email", wireId);
  return id;
}
