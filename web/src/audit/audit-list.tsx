/** The list of the audit log with its filters, for the page of a workspace and for that of operators. */
import { Anchor, Button, Group, NativeSelect, SimpleGrid, Text, UnstyledButton } from "@mantine/core";
import type { ComponentProps } from "react";
import type { AuditEntry } from "../../../src/gen/v1/audit_pb.ts";
import { periods } from "../emails/search.ts";
import { StatusBadge } from "../parts/icons.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { actionText, actorText, type nouns, nounText } from "./labels.ts";
import type { AuditSearch } from "./search.ts";

export type Change = (part: AuditSearch) => void;
type Query = ComponentProps<typeof PagedList<AuditEntry>>["query"];

interface AuditListProps {
  query: Query;
  search: AuditSearch;
  change: Change;
  /** What the changes can be about. */
  about: typeof nouns;
}

export function AuditList({ query, search, change, about }: AuditListProps) {
  return (
    <>
      <Filters search={search} change={change} about={about} />
      <PagedList
        query={query}
        what="the audit log"
        label="Changes, newest first"
        keyOf={(one) => one.id}
        row={(one) => <Row entry={one} change={change} />}
        framed
        onRequest
        isFresh
        empty={<NoEntries isFiltered={Object.values(search).some(Boolean)} change={change} />}
      />
    </>
  );
}

function Filters({ search, change, about }: Omit<AuditListProps, "query">) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" component="search" aria-label="Audit log">
        <NativeSelect
          label="About"
          data={[{ value: "", label: "Everything" }, ...about]}
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
      <div className="chips">
        {search.actor && <Chip name="By" id={search.actor} onRemove={() => change({ actor: "" })} />}
        {search.target && <Chip name="Of" id={search.target} onRemove={() => change({ target: "" })} />}
      </div>
    </>
  );
}

function Chip({ name, id, onRemove }: { name: string; id: string; onRemove(): void }) {
  return (
    <UnstyledButton className="chip wrap" onClick={onRemove} aria-label={`Remove the filter ${name} ${id} ✕`}>
      {name} {id} ✕
    </UnstyledButton>
  );
}

function NoEntries({ isFiltered, change }: { isFiltered: boolean; change: Change }) {
  if (!isFiltered) return <Empty>No changes yet. Every change appears here.</Empty>;
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
            <Anchor
              component="button"
              type="button"
              fw={560}
              ta="left"
              underline="hover"
              c="inherit"
              onClick={() => change({ actor: actorId })}
            >
              {who}
            </Anchor>
          ) : (
            <strong>{who}</strong>
          )}{" "}
          {actionText(entry.action)}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {targetId && (
            <Anchor
              component="button"
              type="button"
              size="sm"
              ta="left"
              underline="hover"
              c="inherit"
              className="mono"
              onClick={() => change({ target: targetId })}
            >
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
