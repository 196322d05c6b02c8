/** The audit log of the whole service and of every workspace, for operators. */
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Group } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { OperatorService } from "../../../src/gen/v1/operator_pb.ts";
import { transport } from "../api/transport.ts";
import { AuditList, type Change } from "../audit/audit-list.tsx";
import { ExportAudit } from "../audit/export.tsx";
import { nouns, serviceNouns } from "../audit/labels.ts";
import { toFilter } from "../audit/search.ts";
import { OperatorPage } from "./operator-page.tsx";

const route = getRouteApi("/operator/audit");
const about = [...serviceNouns, ...nouns];

export function OperatorAuditPage() {
  return (
    <OperatorPage
      title="Service audit log"
      intro="Sign-ins, changes to people and to the service, and the changes in every workspace."
    >
      <Listed />
    </OperatorPage>
  );
}

function Listed() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change: Change = useCallback(
    (part) => void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  const { noun, since, actor, target } = search;
  // As on the page of a workspace.
  const filter = useMemo(() => toFilter({ noun, since, actor, target }, new Date()), [noun, since, actor, target]);
  const query = useInfiniteQuery(
    OperatorService.method.listServiceAuditEntries,
    { filter, pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  return (
    <>
      <Group>
        <ExportAudit load={(page) => client.exportServiceAuditEntries({ filter, ...page }, waiting)} />
      </Group>
      <AuditList query={query} search={search} change={change} about={about} />
    </>
  );
}

const client = createClient(OperatorService, transport);
const waiting = { timeoutMs: 60_000 };
