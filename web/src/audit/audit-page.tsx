/** The audit log of the workspace: who changed what, with filters and an export. */
import { Code } from "@connectrpc/connect";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Anchor, Button, Group, NativeSelect, SimpleGrid, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { type AuditEntry, AuditService } from "../../../src/gen/v1/audit_pb.ts";
import { codeOf } from "../api/problem.ts";
import { periods } from "../emails/search.ts";
import { StatusBadge } from "../parts/icons.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { ExportAudit } from "./export.tsx";
import { actionText, actorText, nouns, nounText } from "./labels.ts";
import { type AuditSearch, toFilter } from "./search.ts";

const route = getRouteApi("/audit");
type Change = (part: AuditSearch) => void;

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
      intro="Who changed what in this workspace, and from where. Sent emails are in the log of emails. Entries cannot be changed, and stay as long as the history of emails."
      actions={!isDenied && <ExportAudit search={search} />}
    >
      {isDenied ? (
        <Empty>The audit log is for owners and developers of the workspace. Ask an owner for another role.</Empty>
      ) : (
        <>
          <Filters search={search} change={change} />
          <PagedList
            query={query}
            what="the audit log"
            label="Changes, newest first"
            keyOf={(one) => one.id}
            row={(one) => <Row entry={one} change={change} />}
            framed
            onRequest
            empty={<NoEntries isFiltered={Object.values(search).some(Boolean)} change={change} />}
          />
        </>
      )}
    </Page>
  );
}

function Filters({ search, change }: { search: AuditSearch; change: Change }) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" component="search" aria-label="Audit log">
        <NativeSelect
          label="About"
          data={[{ value: "", label: "Everything" }, ...nouns]}
          value={search.noun ?? ""}
          onChange={(event) => change({ noun: event.currentTarget.value })}
        />
        <NativeSelect
          label="Time"
          data={[
            { value: "", label: "Any time" },
            ...Object.entries(periods).map(([value, { name }]) => ({ value, label: name })),
          ]}
          value={search.since ?? ""}
          onChange={(event) => change({ since: event.currentTarget.value })}
        />
      </SimpleGrid>
      <Group gap="xs">
        {search.actor && <Chip name="By" id={search.actor} onRemove={() => change({ actor: "" })} />}
        {search.target && <Chip name="Of" id={search.target} onRemove={() => change({ target: "" })} />}
      </Group>
    </>
  );
}

function Chip({ name, id, onRemove }: { name: string; id: string; onRemove(): void }) {
  return (
    <Button variant="light" size="xs" onClick={onRemove} aria-label={`Remove the filter ${name} ${id}`}>
      {name} {id} ✕
    </Button>
  );
}

function NoEntries({ isFiltered, change }: { isFiltered: boolean; change: Change }) {
  if (!isFiltered) return <Empty>No changes yet. Every change to this workspace appears here.</Empty>;
  return (
    <Empty
      action={<Button onClick={() => change({ noun: "", since: "", actor: "", target: "" })}>Clear filters</Button>}
    >
      No changes match.
    </Empty>
  );
}

function Row({ entry, change }: { entry: AuditEntry; change: Change }) {
  const { actorId, targetId, fields, reason, address } = entry;
  const who = actorText(entry);
  const details = [fields.length > 0 && `Changed: ${fields.join(", ")}`, reason && `Refused: ${reason}`].filter(
    Boolean,
  );
  return (
    <div className="row">
      <StatusBadge of={{ text: nounText(entry.action), color: reason ? "red" : "gray" }} />
      <div className="middle">
        <Text className="wrap">
          {actorId ? (
            <Anchor component="button" type="button" fw={600} ta="left" onClick={() => change({ actor: actorId })}>
              {who}
            </Anchor>
          ) : (
            <strong>{who}</strong>
          )}{" "}
          {actionText(entry.action)}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {targetId && (
            <Anchor component="button" type="button" size="sm" ta="left" onClick={() => change({ target: targetId })}>
              {targetId}
            </Anchor>
          )}
          {targetId && details.length > 0 && " · "}
          {details.join(" · ")}
        </Text>
      </div>
      <Group className="aside" gap="sm" justify="flex-end">
        {address && (
          <Text size="sm" c="dimmed">
            {address}
          </Text>
        )}
        {entry.at && <Time at={entry.at} />}
      </Group>
    </div>
  );
}
