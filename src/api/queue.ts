/** QueueService: a workspace's outgoing mail by destination, and its holding, hastening and giving up. */
import { timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { DestinationState, QueueService } from "../gen/v1/queue_pb.ts";
import { readAddressDomain } from "../mail/address-domain.ts";
import { invalid, Problem, type Violation } from "../rules/problem.ts";
import type { Clock } from "../store/clock.ts";
import type { Sql } from "../store/db.ts";
import { makeUuid, uuidTime } from "../store/ids.ts";
import { laneHint } from "../store/lease.ts";
import {
  type DestinationRow,
  hastenSome,
  listDestinations,
  pauseDestination,
  probeDestination,
  purgeSome,
  resumeDestination,
} from "../store/queue-destinations.ts";
import type { Wake } from "../store/wake.ts";
import { pageSizeOf } from "./paging.ts";
import { serve } from "./service.ts";

export type QueueDeps = { sql: Sql; clock: Clock; wake: Wake };

/** Recipients changed by one statement: enough to be quick, few enough to hold nobody up. */
const hastenedAtOnce = 20_000;
const purgedAtOnce = 1000;
const purged = "given up by PurgeDestination before it was delivered";

export function createQueueService({ sql, clock, wake }: QueueDeps) {
  return serve(QueueService, {
    async listDestinations(request, call) {
      const problems: Violation[] = [];
      const limit = pageSizeOf(request.pageSize, problems);
      const after = request.pageToken === "" ? undefined : readToken(request.pageToken);
      if (after === null)
        problems.push({
          field: "pageToken",
          description: "is not a token that this method returned; leave it out for the first page",
        });
      if (problems.length > 0) throw invalid(problems);
      const rows = await listDestinations(sql, {
        workspaceId: call.caller.workspaceId,
        search: request.search.trim() || undefined,
        after: after ?? undefined,
        limit: limit + 1,
      });
      const shown = rows.slice(0, limit);
      return { data: shown.map(onWire), nextPageToken: rows.length > limit ? makeToken(shown.at(-1)!) : "" };
    },

    async retryDestination(request, call) {
      const at = { workspaceId: call.caller.workspaceId, destination: destinationOf(request) };
      call.beginWrite();
      while ((await hastenSome(sql, { ...at, limit: hastenedAtOnce })) > 0);
      const { waiting, due } = await probeDestination(sql, at);
      if (waiting === 0) throw nothingWaits(at.destination);
      wake.tell("mail", [laneHint(at)]);
      return {
        recipients: due,
        message: `${count(due)} at ${at.destination} ${due === 1 ? "is" : "are"} due now.`,
      };
    },

    async pauseDestination(request, call) {
      const at = { workspaceId: call.caller.workspaceId, destination: destinationOf(request) };
      call.beginWrite();
      const changed = await pauseDestination(sql, at);
      return {
        message: changed
          ? `Mail for ${at.destination} waits until ResumeDestination. Attempts under way go on, and so does expiry.`
          : `Mail for ${at.destination} was paused already.`,
      };
    },

    async resumeDestination(request, call) {
      const at = { workspaceId: call.caller.workspaceId, destination: destinationOf(request) };
      call.beginWrite();
      if (!(await resumeDestination(sql, at)))
        throw new Problem(
          "failed_precondition",
          `Mail for ${at.destination} is not paused, so there is nothing to resume.`,
        );
      wake.tell("mail", [laneHint(at)]);
      return { message: `Mail for ${at.destination} goes again.` };
    },

    async purgeDestination(request, call) {
      const at = { workspaceId: call.caller.workspaceId, destination: destinationOf(request) };
      call.beginWrite();
      // What is accepted from now on was not meant.
      const upTo = makeUuid(clock.nowMs());
      let recipients = 0;
      for (;;) {
        const eventIds = Array.from({ length: purgedAtOnce }, () => makeUuid(clock.nowMs()));
        const some = await purgeSome(sql, { ...at, upTo, reason: purged, eventIds });
        recipients += some;
        if (some > 0) wake.tell("events");
        if (some < purgedAtOnce) break;
      }
      if (recipients === 0) throw nothingWaits(at.destination);
      return { recipients, message: `${count(recipients)} at ${at.destination} ended as failed: ${purged}.` };
    },
  });
}

function destinationOf({ destination }: { destination: string }): string {
  const wrong = (description: string) => invalid([{ field: "destination", description }]);
  const typed = destination.trim().replace(/\.$/, "");
  if (typed === "") throw wrong("is required: the domain of the recipient addresses, such as example.com");
  const read = readAddressDomain(typed);
  if (!read.ok) throw wrong(read.reason);
  return read.domain;
}

function nothingWaits(destination: string): Problem {
  return new Problem(
    "not_found",
    `No mail of this workspace waits for ${destination}. ListDestinations shows what waits.`,
  );
}

const stateOnWire: Record<DestinationRow["state"], DestinationState> = {
  active: DestinationState.ACTIVE,
  backing_off: DestinationState.BACKING_OFF,
  paused: DestinationState.PAUSED,
};

function onWire(row: DestinationRow) {
  return {
    destination: row.destination,
    mxSite: row.site ?? "",
    state: stateOnWire[row.state],
    queued: row.queued,
    inFlight: row.inFlight,
    oldestAt: row.oldestId ? timestampFromMs(uuidTime(row.oldestId)) : undefined,
    nextAttemptAt: row.nextAttemptAt ? timestampFromDate(row.nextAttemptAt) : undefined,
    lastReply: row.lastReply ?? "",
    lastReplyAt: row.lastReplyAt ? timestampFromDate(row.lastReplyAt) : undefined,
    failures: row.failures,
  };
}

function count(recipients: number): string {
  return `${recipients} ${recipients === 1 ? "recipient" : "recipients"}`;
}

function makeToken(row: DestinationRow): string {
  return Buffer.from(`${row.queued + row.inFlight} ${row.destination}`).toString("base64url");
}

function readToken(token: string): { recipients: number; destination: string } | null {
  if (!/^[\w-]{1,1000}$/.test(token)) return null;
  const match = /^(\d{1,9}) ([\x21-\x7e]{1,320})$/.exec(Buffer.from(token, "base64url").toString());
  return match ? { recipients: Number(match[1]), destination: match[2]! } : null;
}
