/**
 * Suppressions: the addresses that a workspace does not send to. This file has the RPCs of SuppressionService, rules.ts
 * the validation and CSV, store.ts the SQL. unsubscribe/ has recipients who left a topic, and their page. Read next: delivery/store/settle.ts, which adds addresses that bounce, and
 * inbound/store/returns.ts, which adds those of later bounces and of complaints.
 */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { actorOf, audited } from "../audit/record.ts";
import { SuppressionReason as Reason, SuppressionService } from "../gen/v1/suppression_pb.ts";
import { type Call, serve } from "../http/call.ts";
import { pageSizeOf } from "../http/paging.ts";
import { invalid, Problem, type Violation } from "../ops/problem.ts";
import { toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { createBudget, runOrRefuse } from "../shares/budget.ts";
import {
  noteProblem,
  readAddress,
  readSuppressions,
  type SuppressionEntry,
  suppressionHeader,
  writeSuppression,
} from "./rules.ts";
import {
  addSuppressions,
  exportSuppressions,
  getSuppression,
  listSuppressions,
  removeSuppression,
  type SuppressionReason,
  type SuppressionRow,
} from "./store.ts";
import { unsubscribeMethods } from "./unsubscribe/service.ts";

const exportPage = 100_000;
const importBatch = 5000;
/** Lines that are parsed without a pause. */
const linesPerStep = 500;
const maxProblems = 100;

/** Imports that run at the same time. A workspace has one of them, and a few that wait. */
const maxImports = 4;
const maxWaitingImports = 4;
/** The rows of an export page and its text. */
const exportPageBytes = 32 * 1024 * 1024;

export function createSuppressionService({ sql }: { sql: Sql }) {
  const imports = createBudget({ total: maxImports, perOwner: 1 });
  return serve(SuppressionService, {
    ...unsubscribeMethods(sql),

    async listSuppressions(request, call) {
      const problems: Violation[] = [];
      const limit = pageSizeOf(request.pageSize, problems);
      const before = request.pageToken === "" ? undefined : readListToken(request.pageToken);
      if (before === null) problems.push(badToken);
      if (problems.length > 0) throw invalid(problems);
      // ListUnsubscribes has them.
      if (request.reason === Reason.UNSUBSCRIBED) return { data: [], nextPageToken: "" };
      const rows = await listSuppressions(sql, {
        workspaceId: call.caller.workspaceId,
        reason: reasonFrom(request.reason),
        search: request.search.trim() || undefined,
        before: before ?? undefined,
        limit: limit + 1,
      });
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      return {
        data: shown.map(onWire),
        nextPageToken: rows.length > limit && last ? makeToken(`${last.createdMicros} ${last.address}`) : "",
      };
    },

    async addSuppression(request, call) {
      const { workspaceId } = call.caller;
      const note = request.note.trim();
      const problems: Violation[] = [];
      const read = readAddress(request.address);
      if (!read.ok) problems.push({ field: "address", description: read.reason });
      const wrongNote = noteProblem(note);
      if (wrongNote) problems.push({ field: "note", description: wrongNote });
      if (!read.ok || problems.length > 0) throw invalid(problems);
      call.beginWrite();
      const entries = [{ address: read.address, note }];
      // Read before the commit: a database that fails after it must not make this call say that nothing was stored.
      const { row } = await audited(
        sql,
        actorOf(call.caller),
        async (tx) => ({
          added: await addSuppressions(tx, { workspaceId, reason: "manual", entries }),
          row: await getSuppression(tx, workspaceId, read.address),
        }),
        ({ added }) => (added > 0 ? { action: "suppression.added", workspaceId } : undefined),
      );
      // Another call removed the address between the two statements.
      if (!row) throw new Problem("aborted", "The address was removed by another call at the same time. Try again.");
      return { suppression: onWire(row) };
    },

    async removeSuppression(request, call) {
      const read = readAddress(request.address);
      if (!read.ok) throw invalid([{ field: "address", description: read.reason }]);
      call.beginWrite();
      const { workspaceId } = call.caller;
      const removed = await audited(
        sql,
        actorOf(call.caller),
        (tx) => removeSuppression(tx, workspaceId, read.address),
        (listed) => (listed ? { action: "suppression.removed", workspaceId } : undefined),
      );
      if (!removed) throw new Problem("not_found", `${read.address} is not on this workspace's suppression list.`);
      return { message: `${removed} was removed from the suppression list. Emails to it are sent again.` };
    },

    async importSuppressions(request, call) {
      const { workspaceId: owner } = call.caller;
      const { signal } = call.cancellation;
      const options = { budget: imports, owner, maxWaiting: maxWaitingImports, refusal: tooManyImports, signal };
      return await runOrRefuse(options, () => importCsv(sql, request.csv, call));
    },

    async exportSuppressions(request, call) {
      const after = request.pageToken === "" ? "" : readToken(request.pageToken);
      if (after === null) throw invalid([badToken]);
      await call.reserveAnswer?.(exportPageBytes);
      const rows = await exportSuppressions(sql, {
        workspaceId: call.caller.workspaceId,
        after,
        limit: exportPage + 1,
      });
      const shown = rows.slice(0, exportPage);
      return {
        csv: (after === "" ? suppressionHeader : "") + shown.map(writeSuppression).join(""),
        nextPageToken: rows.length > exportPage ? makeToken(shown.at(-1)!.address) : "",
      };
    },
  });
}

/** Stores the addresses batch by batch. */
async function importCsv(sql: Sql, csv: string, call: Call) {
  const { workspaceId } = call.caller;
  const counts = { added: 0, alreadyPresent: 0, refused: 0 };
  const problems: { line: number; message: string }[] = [];
  let batch: SuppressionEntry[] = [];
  let writing = false;
  const flush = async () => {
    const entries = batch;
    batch = [];
    if (entries.length === 0) return;
    // Only before the first batch: after it the import runs to its end, even past the deadline, and reports true counts.
    if (!writing) call.beginWrite();
    writing = true;
    // One entry for each batch that added addresses, in its transaction: an import that is cut off has the entries of what it stored.
    const added = await audited(
      sql,
      actorOf(call.caller),
      (tx) => addSuppressions(tx, { workspaceId, reason: "import", entries }),
      (count) => (count > 0 ? { action: "suppression.imported", workspaceId } : undefined),
    );
    counts.added += added;
    counts.alreadyPresent += entries.length - added;
  };
  let lines = 0;
  for (const read of readSuppressions(csv)) {
    if ("problem" in read) {
      counts.refused += 1;
      if (problems.length < maxProblems) problems.push({ line: read.line, message: read.problem });
    } else batch.push(read.entry);
    if (batch.length >= importBatch) await flush();
    lines += 1;
    // Yields to the event loop, since a file with only invalid lines never awaits a flush.
    if (lines % linesPerStep === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await flush();
  return { ...counts, problems };
}

function tooManyImports(): Problem {
  return new Problem(
    "resource_exhausted",
    "This workspace has an import in progress, and others wait for it. Wait until they finish, then retry.",
    { retryAfterMs: 10_000 },
  );
}

const badToken: Violation = {
  field: "pageToken",
  description: "is not a token that this method returned; leave it out for the first page",
};

const reasonOnWire: Record<SuppressionReason, Reason> = {
  bounce: Reason.BOUNCE,
  complaint: Reason.COMPLAINT,
  manual: Reason.MANUAL,
  import: Reason.IMPORT,
};

function reasonFrom(reason: Reason): SuppressionReason | undefined {
  return (Object.keys(reasonOnWire) as SuppressionReason[]).find((name) => reasonOnWire[name] === reason);
}

function onWire(row: SuppressionRow) {
  return {
    address: row.address,
    reason: reasonOnWire[row.reason],
    sourceEventId: row.sourceEvent ? toWireId("event", row.sourceEvent) : "",
    note: row.note,
    createdAt: timestampFromDate(row.createdAt),
  };
}

function makeToken(text: string): string {
  return Buffer.from(text).toString("base64url");
}

function readToken(token: string): string | null {
  if (!/^[\w-]{1,2000}$/.test(token)) return null;
  const text = Buffer.from(token, "base64url").toString();
  return /^[^\s\0]+@[^\s\0]+$/.test(text) && text.isWellFormed() ? text : null;
}

function readListToken(token: string): { micros: string; address: string } | null {
  if (!/^[\w-]{1,2000}$/.test(token)) return null;
  const match = /^(\d{1,17}) ([^\s\0]+@[^\s\0]+)$/.exec(Buffer.from(token, "base64url").toString());
  return match ? { micros: match[1]!, address: match[2]! } : null;
}
