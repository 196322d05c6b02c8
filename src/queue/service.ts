/**
 * The queue of a workspace by destination. This file has the RPCs of QueueService: list, retry, pause, resume and purge.
 * store.ts has the SQL, and the depth of the whole queue for metrics. Read delivery/loop.ts next: it delivers the queue.
 */
import { timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { AuditAction } from "../audit/entry.ts";
import { actorOf, audited } from "../audit/record.ts";
import { laneHint } from "../emails/lane.ts";
import { DestinationState, QueueService } from "../gen/v1/queue_pb.ts";
import { type Call, serve } from "../http/call.ts";
import { pageSizeOf } from "../http/paging.ts";
import { readAddressDomain } from "../mail/address-domain.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid, Problem, type Violation } from "../ops/problem.ts";
import { makeUuid, uuidTime } from "../postgres/ids.ts";
import { retrying, type Sql } from "../postgres/pool.ts";
import type { Wake } from "../postgres/wake.ts";
import {
  type DestinationRow,
  listDestinations,
  makeSomeDue,
  pauseDestination,
  probeDestination,
  purgeSome,
  resumeDestination,
} from "./store.ts";

export type QueueDeps = { sql: Sql; clock: Clock; wake: Wake };

/** Recipients changed by one statement: enough for throughput, few enough to keep locks short. */
const retryBatch = 20_000;
const purgeBatch = 1000;
const purgeReason = "purged by PurgeDestination before delivery";

export function createQueueService({ sql, clock, wake }: QueueDeps) {
  /** Retries and purges change recipients in batches, and each batch that changed some has an entry in the audit log. */
  const inLog = <T extends number | boolean>({ caller }: Call, action: AuditAction, work: (tx: Sql) => Promise<T>) =>
    retrying(() =>
      audited(sql, actorOf(caller), work, (changed) =>
        changed ? { action, workspaceId: caller.workspaceId } : undefined,
      ),
    );
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
      const someDue = () => inLog(call, "queue.retried", (tx) => makeSomeDue(tx, { ...at, limit: retryBatch }));
      while ((await someDue()) > 0);
      const { waiting, due } = await probeDestination(sql, at);
      if (waiting === 0) throw noQueuedMail(at.destination);
      wake.notify("mail", [laneHint(at)]);
      return {
        recipients: due,
        message: `${count(due)} at ${at.destination} ${due === 1 ? "is" : "are"} due now.`,
      };
    },

    async pauseDestination(request, call) {
      const at = { workspaceId: call.caller.workspaceId, destination: destinationOf(request) };
      call.beginWrite();
      const changed = await inLog(call, "queue.paused", (tx) => pauseDestination(tx, at));
      return {
        message: changed
          ? `Mail for ${at.destination} is paused until ResumeDestination. Running attempts finish, and waiting mail can still expire.`
          : `Mail for ${at.destination} was already paused.`,
      };
    },

    async resumeDestination(request, call) {
      const at = { workspaceId: call.caller.workspaceId, destination: destinationOf(request) };
      call.beginWrite();
      if (!(await inLog(call, "queue.resumed", (tx) => resumeDestination(tx, at))))
        throw new Problem(
          "failed_precondition",
          `Mail for ${at.destination} is not paused, so there is nothing to resume.`,
        );
      wake.notify("mail", [laneHint(at)]);
      return { message: `Delivery to ${at.destination} has resumed.` };
    },

    async purgeDestination(request, call) {
      const at = { workspaceId: call.caller.workspaceId, destination: destinationOf(request) };
      call.beginWrite();
      // Mail that is accepted after this call starts is not purged.
      const upTo = makeUuid(clock.nowMs());
      let recipients = 0;
      for (;;) {
        const eventIds = Array.from({ length: purgeBatch }, () => makeUuid(clock.nowMs()));
        const some = { ...at, upTo, reason: purgeReason, eventIds };
        const purged = await inLog(call, "queue.purged", (tx) => purgeSome(tx, some));
        recipients += purged;
        if (purged > 0) wake.notify("events");
        if (purged < purgeBatch) break;
      }
      if (recipients === 0) throw noQueuedMail(at.destination);
      return { recipients, message: `${count(recipients)} at ${at.destination} failed: ${purgeReason}.` };
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

function noQueuedMail(destination: string): Problem {
  return new Problem(
    "not_found",
    `This workspace has no queued mail for ${destination}. Call ListDestinations for the destinations in the queue.`,
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
    scheduled: row.scheduled,
    delayed: row.delayed,
    oldestAt: row.oldestId ? timestampFromMs(uuidTime(row.oldestId)) : undefined,
    nextAttemptAt: row.nextAttemptAt ? timestampFromDate(row.nextAttemptAt) : undefined,
    lastReply: row.lastReply ?? "",
    lastReplyAt: row.lastReplyAt ? timestampFromDate(row.lastReplyAt) : undefined,
    failures: row.failures,
    stalledSince: row.stalledSince ? timestampFromDate(row.stalledSince) : undefined,
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
