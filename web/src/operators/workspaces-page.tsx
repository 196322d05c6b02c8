/** The workspaces of the whole service, for operators: what each uses, its quotas, suspension and deletion. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Group, NativeSelect, SimpleGrid, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { QuotaKind } from "../../../src/gen/v1/event_pb.ts";
import { OperatorService, type WorkspaceEntry, WorkspaceState } from "../../../src/gen/v1/operator_pb.ts";
import { StatusBadge } from "../parts/icons.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { Time } from "../parts/time.tsx";
import { bytesText, quotaNames, wholeNumber } from "../workspaces/quota-text.ts";
import { EditQuotas } from "./edit-quotas.tsx";
import { OperatorPage } from "./operator-page.tsx";
import { DeleteWorkspace, ResumeWorkspace, SuspendWorkspace } from "./workspace-dialogs.tsx";

const route = getRouteApi("/operator/workspaces");

type Action = { kind: "quotas" | "suspend" | "resume" | "delete"; workspace: WorkspaceEntry };

export function OperatorWorkspacesPage() {
  const [action, setAction] = useState<Action>();
  const close = () => setAction(undefined);
  const workspaceFor = (kind: Action["kind"]) => (action?.kind === kind ? action.workspace : undefined);
  return (
    <OperatorPage title="Workspaces" intro="All workspaces of this service, with their current usage.">
      <Listed onAct={setAction} />
      <EditQuotas workspace={workspaceFor("quotas")} onClose={close} />
      <SuspendWorkspace workspace={workspaceFor("suspend")} onClose={close} />
      <ResumeWorkspace workspace={workspaceFor("resume")} onClose={close} />
      <DeleteWorkspace workspace={workspaceFor("delete")} onClose={close} />
    </OperatorPage>
  );
}

const labels: Record<number, { text: string; color: string }> = {
  [WorkspaceState.ACTIVE]: { text: "Active", color: "gray" },
  [WorkspaceState.SUSPENDED]: { text: "Suspended", color: "red" },
  [WorkspaceState.DELETING]: { text: "Being deleted", color: "gray" },
};

const stateOptions = [
  { value: "", label: "Any state" },
  ...Object.entries(labels).map(([value, { text }]) => ({ value, label: text })),
];

function Listed({ onAct }: { onAct(action: Action): void }) {
  const { q = "", state = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (part: { q?: string; state?: string }) =>
      void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  const query = useInfiniteQuery(
    OperatorService.method.listAllWorkspaces,
    { query: q, state: (Number(state) || 0) as WorkspaceState, pageToken: "", pageSize: 20 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" component="search" aria-label="Workspaces">
        <TextFilter
          label="Search"
          placeholder="Part of a name, or a member's address"
          value={q}
          onChange={(q) => change({ q })}
        />
        <NativeSelect
          label="State"
          data={stateOptions}
          value={state}
          onChange={(event) => change({ state: event.currentTarget.value })}
        />
      </SimpleGrid>
      <PagedList
        query={query}
        what="the workspaces"
        label="Workspaces, newest first"
        keyOf={(workspace) => workspace.id}
        row={(workspace) => <Row workspace={workspace} onAct={onAct} />}
        framed
        isFresh
        empty={
          <Empty action={<Button onClick={() => change({ q: "", state: "" })}>Clear filters</Button>}>
            No workspaces match.
          </Empty>
        }
      />
    </>
  );
}

/** What a row shows of the usage. The dialog with the quotas shows all. */
const shownKinds: QuotaKind[] = [
  QuotaKind.EMAILS_PER_DAY,
  QuotaKind.STORED_BYTES,
  QuotaKind.DOMAINS,
  QuotaKind.MEMBERS,
];

function usageText({ quotas }: WorkspaceEntry): string {
  return quotas
    .filter(({ kind }) => shownKinds.includes(kind))
    .map(({ kind, used, limit }) => {
      const amount = (value: number) => (kind === QuotaKind.STORED_BYTES ? bytesText(value) : wholeNumber(value));
      return `${quotaNames[kind] ?? "Other"}: ${amount(used)}${limit === undefined ? "" : ` of ${amount(limit)}`}`;
    })
    .join(" · ");
}

function Row({ workspace, onAct }: { workspace: WorkspaceEntry; onAct(action: Action): void }) {
  const { name, state, suspension, warning, owners } = workspace;
  const isSuspended = state === WorkspaceState.SUSPENDED;
  const button = (kind: Action["kind"], text: string, label: string) => (
    <Button variant="default" size="compact-sm" onClick={() => onAct({ kind, workspace })} aria-label={label}>
      {text}
    </Button>
  );
  return (
    <div className="row">
      <StatusBadge of={labels[state] ?? { text: "Unknown", color: "gray" }} />
      <div className="middle">
        <Text fw={560} className="wrap">
          {name}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {owners === 1 ? "1 owner" : `${owners} owners`}
          {workspace.isFirst && " · first workspace"}
          {workspace.fromSignUp && " · from open sign-up"}
          {workspace.createdAt && (
            <>
              {" · created "}
              <Time at={workspace.createdAt} />
            </>
          )}
        </Text>
        <Text size="sm" className="wrap">
          {usageText(workspace)}
        </Text>
        {isSuspended && suspension && (
          <Text size="sm" className="wrap">
            {suspension.reason}
          </Text>
        )}
        {warning && (
          <Text size="sm" className="wrap">
            {warning.message}
          </Text>
        )}
      </div>
      {state !== WorkspaceState.DELETING && (
        <Group className="aside" justify="flex-end" gap="xs">
          {button("quotas", "Quotas", `Edit the quotas of ${name}`)}
          {isSuspended ? button("resume", "Resume", `Resume ${name}`) : button("suspend", "Suspend", `Suspend ${name}`)}
          {!workspace.isFirst && button("delete", "Delete", `Delete ${name}`)}
        </Group>
      )}
    </div>
  );
}
