/** The live tail of events, narrowed by type or email, with a cursor to take away. */
import { Badge, Button, Chip, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useReducer } from "react";
import { eventTypes, wordOf } from "../events/describe.ts";
import { EventRow } from "../events/event-row.tsx";
import { type EventSearch, readEventSearch } from "../events/search.ts";
import { keptEvents, type Tail, useTail } from "../events/use-tail.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Empty, Loading } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";

const route = getRouteApi("/events");

export function EventsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [isPaused, pausing] = useDisclosure(false);
  const [attempt, again] = useReducer((count: number) => count + 1, 0);
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
      intro="What happened, as it happens: the same stream that StreamEvents and webhooks carry. Opened a little before the newest event."
      actions={
        <Button variant="default" onClick={pausing.toggle}>
          {isPaused ? "Go on" : "Pause"}
        </Button>
      }
    >
      <Filters search={search} onChange={change} />
      <State tail={tail} isPaused={isPaused} />
      {tail.error !== undefined && tail.state !== "live" && <ProblemAlert error={tail.error} onRetry={again} />}
      <Shown
        tail={tail}
        isNarrowed={Object.keys(search).length > 0}
        onClear={() => change({ from: "", types: "", email: "" })}
      />
    </Page>
  );
}

function Filters({ search, onChange }: { search: EventSearch; onChange(part: EventSearch): void }) {
  const chosen = search.types?.split(",") ?? [];
  return (
    <Stack gap="sm" component="search" aria-label="Events">
      <Group gap={6} role="group" aria-label="Only these types">
        <Chip.Group multiple value={chosen} onChange={(types) => onChange({ types: types.join(",") })}>
          {eventTypes.map((type) => (
            <Chip key={type} value={type} size="xs" title={type}>
              {wordOf(type).word}
            </Chip>
          ))}
        </Chip.Group>
      </Group>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
        <TextFilter
          label="Only of this email"
          placeholder="em_…"
          value={search.email ?? ""}
          onChange={(email) => onChange({ email })}
        />
        <TextFilter
          label="After this cursor"
          placeholder="a little before the newest; 0 is the oldest kept"
          value={search.from ?? ""}
          onChange={(from) => onChange({ from })}
        />
      </SimpleGrid>
    </Stack>
  );
}

const states: Record<Tail["state"], { word: string; color: string }> = {
  connecting: { word: "Connecting", color: "blue" },
  live: { word: "Live", color: "green" },
  broken: { word: "Reconnecting", color: "yellow" },
  ended: { word: "Ended", color: "red" },
};

function State({ tail, isPaused }: { tail: Tail; isPaused: boolean }) {
  const { word, color } = isPaused ? { word: "Paused", color: "gray" } : states[tail.state];
  return (
    <Group gap="xs" mih={30}>
      <Badge variant="light" color={color} role="status">
        {word}
      </Badge>
      {tail.cursor !== undefined && (
        <>
          <Text size="sm">
            Cursor <code>{tail.cursor}</code>
          </Text>
          <CopyButton value={tail.cursor} name="the cursor" />
          <Text size="sm" c="dimmed">
            a program that resumes from it misses nothing
          </Text>
        </>
      )}
    </Group>
  );
}

function Shown({ tail, isNarrowed, onClear }: { tail: Tail; isNarrowed: boolean; onClear(): void }) {
  if (tail.entries.length === 0) {
    if (tail.state === "connecting") return <Loading what="the events" rows={6} height={56} />;
    if (tail.state !== "live") return null;
    return (
      <Empty action={isNarrowed && <Button onClick={onClear}>Clear filters</Button>}>
        {isNarrowed
          ? "No recent event matches. New ones appear here by themselves."
          : "Nothing has happened yet. Send an email and its events appear here by themselves."}
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
      {tail.entries.length >= keptEvents && (
        <Text size="sm" c="dimmed" ta="center">
          The newest {keptEvents} are shown. Older ones are read with ListEvents.
        </Text>
      )}
    </Stack>
  );
}
