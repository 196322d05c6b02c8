/** The audit log of the workspace: who changed what, with filters and an export. */
import { Code, createClient } from "@connectrpc/connect";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { AuditService } from "../../../src/gen/v1/audit_pb.ts";
import { codeOf } from "../api/problem.ts";
import { transport } from "../api/transport.ts";
import { Page } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";
import { AuditList, type Change } from "./audit-list.tsx";
import { ExportAudit } from "./export.tsx";
import { nouns } from "./labels.ts";
import { toFilter } from "./search.ts";

const route = getRouteApi("/audit");

export function AuditPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change: Change = useCallback(
    (part) => void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  const { noun, since, actor, target } = search;
  // The start of the period stays the same while the list is shown: another start would be another list.
  const filter = useMemo(() => toFilter({ noun, since, actor, target }, new Date()), [noun, since, actor, target]);
  const query = useInfiniteQuery(
    AuditService.method.listAuditEntries,
    { filter, pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  const isDenied = query.error !== null && codeOf(query.error) === Code.PermissionDenied;
  return (
    <Page
      title="Audit log"
      intro="Every change to this workspace: who made it, when, and from which address. Entries cannot be edited, and are kept as long as the email history."
      actions={!isDenied && <ExportAudit load={(page) => client.exportAuditEntries({ filter, ...page }, waiting)} />}
    >
      {isDenied ? (
        <Empty>The audit log is for owners and developers of the workspace. Ask an owner for another role.</Empty>
      ) : (
        <AuditList query={query} search={search} change={change} about={nouns} />
      )}
    </Page>
  );
}

const client = createClient(AuditService, transport);
const waiting = { timeoutMs: 60_000 };
