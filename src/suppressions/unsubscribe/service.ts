/** The methods of SuppressionService for recipients who have unsubscribed from a topic. Part of ../service.ts. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { actorOf, audited } from "../../audit/record.ts";
import {
  type AddUnsubscribeRequest,
  type ListUnsubscribesRequest,
  UnsubscribeMethod as Method,
  type RemoveUnsubscribeRequest,
} from "../../gen/v1/suppression_pb.ts";
import type { Call } from "../../http/call.ts";
import { pageSizeOf } from "../../http/paging.ts";
import { parseAddress } from "../../mail/address.ts";
import { invalid, Problem, type Violation } from "../../ops/problem.ts";
import { toWireId } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { allTopics, topicProblem } from "./rules/topic.ts";
import {
  addUnsubscribe,
  getUnsubscribe,
  listUnsubscribes,
  removeUnsubscribe,
  type UnsubscribeMethod,
  type UnsubscribeRow,
} from "./store/entries.ts";

export function unsubscribeMethods(sql: Sql) {
  return {
    async listUnsubscribes(request: ListUnsubscribesRequest, call: Call) {
      const problems: Violation[] = [];
      const limit = pageSizeOf(request.pageSize, problems);
      const before = request.pageToken === "" ? undefined : readToken(request.pageToken);
      if (before === null) problems.push(badToken);
      const topic = request.topic.trim();
      if (topic !== "") problems.push(...topicViolations(topic));
      if (problems.length > 0) throw invalid(problems);
      const rows = await listUnsubscribes(sql, {
        workspaceId: call.caller.workspaceId,
        topic: topic || undefined,
        search: request.search.trim() || undefined,
        before: before ?? undefined,
        limit: limit + 1,
      });
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      return { data: shown.map(onWire), nextPageToken: rows.length > limit && last ? makeToken(last) : "" };
    },

    async addUnsubscribe(request: AddUnsubscribeRequest, call: Call) {
      const { workspaceId } = call.caller;
      const entry = { workspaceId, ...readEntry(request) };
      call.beginWrite();
      // Read before the commit: a database that fails after it must not make this call say that nothing was stored.
      const { row } = await audited(
        sql,
        actorOf(call.caller),
        async (tx) => ({ added: await addUnsubscribe(tx, entry), row: await getUnsubscribe(tx, entry) }),
        ({ added }) => (added ? { action: "unsubscribe.added", workspaceId } : undefined),
      );
      // Another call removed the entry between the two statements.
      if (!row) throw new Problem("aborted", "The entry was removed by another call at the same time. Try again.");
      return { unsubscribe: onWire(row) };
    },

    async removeUnsubscribe(request: RemoveUnsubscribeRequest, call: Call) {
      const { workspaceId } = call.caller;
      const entry = { workspaceId, ...readEntry(request) };
      call.beginWrite();
      const removed = await audited(
        sql,
        actorOf(call.caller),
        async (tx) => ({
          done: await removeUnsubscribe(tx, entry),
          leftAll: (await getUnsubscribe(tx, { ...entry, topic: allTopics })) !== undefined,
        }),
        ({ done }) => (done ? { action: "unsubscribe.removed", workspaceId } : undefined),
      );
      const what = entry.topic === allTopics ? "all topics" : entry.topic;
      if (!removed.done && removed.leftAll)
        throw new Problem(
          "not_found",
          `${entry.address} has no entry for ${what}, but one for all topics (*): remove that one.`,
        );
      if (!removed.done) throw new Problem("not_found", `${entry.address} is not unsubscribed from ${what}.`);
      const message = `${entry.address} is no longer unsubscribed from ${what}.`;
      return {
        message: removed.leftAll ? `${message} The entry for all topics (*) remains: remove it, too.` : message,
      };
    },
  };
}

function readEntry(request: { address: string; topic: string }): { address: string; topic: string } {
  const read = parseAddress(request.address);
  const topic = request.topic.trim();
  const problems = topicViolations(topic);
  if (!read.ok) problems.unshift({ field: "address", description: read.reason });
  if (!read.ok || problems.length > 0) throw invalid(problems);
  return { address: read.address.address, topic };
}

function topicViolations(topic: string): Violation[] {
  const problem = topic === allTopics ? undefined : topicProblem(topic);
  return problem ? [{ field: "topic", description: `${problem}; * stands for all topics` }] : [];
}

const methodOnWire: Record<UnsubscribeMethod, Method> = {
  one_click: Method.ONE_CLICK,
  page: Method.PAGE,
  api: Method.API,
};

function onWire(row: UnsubscribeRow) {
  return {
    address: row.address,
    topic: row.topic,
    method: methodOnWire[row.method],
    emailId: row.emailId ? toWireId("email", row.emailId) : "",
    sourceEventId: row.sourceEvent ? toWireId("event", row.sourceEvent) : "",
    createdAt: timestampFromDate(row.createdAt),
  };
}

const badToken: Violation = {
  field: "pageToken",
  description: "is not a token that this method returned; leave it out for the first page",
};

function makeToken({ createdMicros, topic, address }: UnsubscribeRow): string {
  return Buffer.from(`${createdMicros} ${topic} ${address}`).toString("base64url");
}

function readToken(token: string): { micros: string; address: string; topic: string } | null {
  if (!/^[\w-]{1,2000}$/.test(token)) return null;
  const text = Buffer.from(token, "base64url").toString();
  const match = /^(\d{1,17}) ([a-z0-9._*-]{1,64}) ([^\s\0]+@[^\s\0]+)$/.exec(text);
  return match ? { micros: match[1]!, topic: match[2]!, address: match[3]! } : null;
}
