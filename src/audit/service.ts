/** The handlers of AuditService: list and export the audit log of the caller's workspace. */
import { create, toJsonString } from "@bufbuild/protobuf";
import { AuditEntrySchema, AuditService } from "../gen/v1/audit_pb.ts";
import { serve } from "../http/call.ts";
import { pageSizeOf } from "../http/paging.ts";
import { invalid, type Violation } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { listEntries } from "./store.ts";
import { entryOnWire, filterFrom, pageTokenOf, placeFrom } from "./wire.ts";

const exportPage = 5000;
/** The rows of an export page and its text. */
const exportPageBytes = 8 * 1024 * 1024;

export function createAuditService({ sql }: { sql: Sql }) {
  return serve(AuditService, {
    async listAuditEntries(request, call) {
      const problems: Violation[] = [];
      const limit = pageSizeOf(request.pageSize, problems);
      const before = placeFrom(request.pageToken, problems);
      const filter = { ...filterFrom(request.filter, problems), workspaceId: call.caller.workspaceId };
      if (problems.length > 0) throw invalid(problems);
      const rows = await listEntries(sql, filter, { before, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      return { data: shown.map(entryOnWire), nextPageToken: rows.length > limit ? pageTokenOf(shown.at(-1)!) : "" };
    },

    async exportAuditEntries(request, call) {
      const problems: Violation[] = [];
      const before = placeFrom(request.pageToken, problems);
      const filter = { ...filterFrom(request.filter, problems), workspaceId: call.caller.workspaceId };
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
  });
}
