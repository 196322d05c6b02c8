/** The live log of events, with filters by type and email, and the cursor to resume from. */
import { Badge, Button, Chip, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useReducer } from "react";
import { CopyButton } from "../parts/copy-button.tsx";
import { Page } from "../parts/page.tsx";
import { Empty, Loading, ProblemAlert } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { eventLabel, eventTypes } from "./describe.ts";
import { EventRow } from "./event-row.tsx";
import { type EventSearch, readEventSearch } from "./search.ts";
import { initialEvents, maxEvents, type Tail, useTail } from "./use-tail.ts";

const route = getRouteApi("/events");

export function EventsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [isPaused, pausing] = useDisclosure(false);
  const [attempt, retry] = useReducer((count: number) => count + 1, 0);
  const filter = useMemo(
    () => ({ from: search.from, types: search.types?.split(",") ?? [], emailId: search.email ?? "", attempt }),
    [search, attempt],
  );
  const tail = useTail(filter, isPaused);
  const change = useCallback(
    (part: EventSearch) =>
      void navigate({ search: (before) => readEventSearch({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  return (
    <Page
      title="Events"
      intro={`Live events of this workspace: the same events that StreamEvents returns and webhooks post. The list starts with the last ${initialEvents} events.`}
      actions={
        <Button variant="default" onClick={pausing.toggle}>
          {isPaused ? "Resume events" : "Pause events"}
        </Button>
      }
    >
      <Filters search={search} onChange={change} />
      <StreamState tail={tail} isPaused={isPaused} />
      {tail.error !== undefined && tail.state !== "live" && <ProblemAlert error={tail.error} onRetry={retry} />}
      <EventList
        tail={tail}
        hasFilters={Object.keys(search).length > 0}
        onClear={() => change({ from: "", types: "", email: "" })}
      />
    </Page>
  );
}

function Filters({ search, onChange }: { search: EventSearch; onChange(part: EventSearch): void }) {
  const chosen = search.types?.split(",") ?? [];
  return (
    <Stack gap="sm" component="search" aria-label="Events">
      <Group gap={6} role="group" aria-label="Event types">
        <Chip.Group multiple value={chosen} onChange={(types) => onChange({ types: types.join(",") })}>
          {eventTypes.map((type) => (
            <Chip key={type} value={type} size="xs" title={type}>
              {eventLabel(type).text}
            </Chip>
          ))}
        </Chip.Group>
      </Group>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
        <TextFilter
          label="Email id"
          placeholder="em_…"
          value={search.email ?? ""}
          onChange={(email) => onChange({ email })}
        />
        <TextFilter
          label="Start after cursor"
          placeholder={`Default: last ${initialEvents} events. 0: oldest stored event`}
          value={search.from ?? ""}
          onChange={(from) => onChange({ from })}
        />
      </SimpleGrid>
    </Stack>
  );
}

const states: Record<Tail["state"], { text: string; color: string }> = {
  connecting: { text: "Connecting", color: "blue" },
  live: { text: "Live", color: "green" },
  broken: { text: "Reconnecting", color: "yellow" },
  ended: { text: "Ended", color: "red" },
};

function StreamState({ tail, isPaused }: { tail: Tail; isPaused: boolean }) {
  const { text, color } = isPaused ? { text: "Paused", color: "gray" } : states[tail.state];
  return (
    <Group gap="xs" mih={30}>
      <Badge variant="light" color={color} role="status">
        {text}
      </Badge>
      {tail.cursor !== undefined && (
        <>
          <Text size="sm">
            Cursor <code>{tail.cursor}</code>
          </Text>
          <CopyButton value={tail.cursor} name="the cursor" />
          <Text size="sm" c="dimmed">
            A program that resumes from this cursor misses no event.
          </Text>
        </>
      )}
    </Group>
  );
}

function EventList({ tail, hasFilters, onClear }: { tail: Tail; hasFilters: boolean; onClear(): void }) {
  if (tail.entries.length === 0) {
    if (tail.state === "connecting") return <Loading what="the events" rows={6} height={56} />;
    if (tail.state !== "live") return null;
    return (
      <Empty action={hasFilters && <Button onClick={onClear}>Clear filters</Button>}>
        {hasFilters
          ? "No recent events match. New events appear here automatically."
          : "No events yet. Send an email, and its events appear here automatically."}
      </Empty>
    );
  }
  return (
    <Stack gap="sm">
      <Stack component="ul" gap={0} className="list framed" aria-label="Events, newest first">
        {tail.entries.map(({ cursor, event }) => (
          <li key={cursor}>
            <EventRow cursor={cursor} event={event} />
          </li>
        ))}
      </Stack>
      {tail.entries.length >= maxEvents && (
        <Text size="sm" c="dimmed" ta="center">
          Showing the newest {maxEvents} events. Use ListEvents to read older ones.
        </Text>
      )}
    </Stack>
  );
}
