/** The handlers of AuditService: list and export the audit log of the caller's workspace. The readers also serve the log of the whole
 * service to operators. */
import { create, toJsonString } from "@bufbuild/protobuf";
import { AuditEntrySchema, type AuditFilter, AuditService } from "../gen/v1/audit_pb.ts";
import { type Call, serve } from "../http/call.ts";
import { pageSizeOf } from "../http/paging.ts";
import { invalid, type Violation } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { listEntries } from "./store.ts";
import { entryOnWire, filterFrom, pageTokenOf, placeFrom } from "./wire.ts";

const exportPage = 5000;
/** The rows of an export page and its text. */
const exportPageBytes = 8 * 1024 * 1024;

export function createAuditService({ sql }: { sql: Sql }) {
  const read = createAuditReader(sql);
  return serve(AuditService, {
    listAuditEntries: (request, call) => read.list(request, call.caller.workspaceId),
    exportAuditEntries: (request, call) => read.export(request, call, call.caller.workspaceId),
  });
}

type PageRequest = { filter?: AuditFilter; pageToken: string };

/** Without a workspace: the entries of the whole service and of every workspace. */
export function createAuditReader(sql: Sql) {
  return {
    async list(request: PageRequest & { pageSize: number }, workspaceId: string | undefined) {
      const problems: Violation[] = [];
      const limit = pageSizeOf(request.pageSize, problems);
      const before = placeFrom(request.pageToken, problems);
      const filter = { ...filterFrom(request.filter, problems), workspaceId };
      if (problems.length > 0) throw invalid(problems);
      const rows = await listEntries(sql, filter, { before, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      return { data: shown.map(entryOnWire), nextPageToken: rows.length > limit ? pageTokenOf(shown.at(-1)!) : "" };
    },

    async export(request: PageRequest, call: Call, workspaceId: string | undefined) {
      const problems: Violation[] = [];
      const before = placeFrom(request.pageToken, problems);
      const filter = { ...filterFrom(request.filter, problems), workspaceId };
      if (problems.length > 0) throw invalid(problems);
      await call.reserveAnswer?.(exportPageBytes);
      const rows = await listEntries(sql, filter, { before, limit: exportPage + 1 });
      const shown = rows.slice(0, exportPage);
      return {
        jsonLines: shown
          .map((entry) => `${toJsonString(AuditEntrySchema, create(AuditEntrySchema, entryOnWire(entry)))}\n`)
          .join(""),
        nextPageToken: rows.length > exportPage ? pageTokenOf(shown.at(-1)!) : "",
      };
    },
  };
}
