/** The live log of events, with filters by type and email, and the cursor to resume from. */
import { Button, Group, SimpleGrid, Stack, Text, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useReducer } from "react";
import { CopyButton } from "../parts/copy-button.tsx";
import { Fresh } from "../parts/fresh.tsx";
import { toneStyle } from "../parts/outcome.tsx";
import { Page } from "../parts/page.tsx";
import { Empty, Loading, ProblemAlert } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { eventLabel, eventTypes } from "./describe.ts";
import { EventRow } from "./event-row.tsx";
import { type EventSearch, readEventSearch } from "./search.ts";
import { initialEvents, maxEvents, type Tail, useTail } from "./use-tail.ts";
import "./events.css";

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
      badge={<StreamState tail={tail} isPaused={isPaused} />}
      intro={`The same events that StreamEvents returns and webhooks post. The list starts with the last ${initialEvents} events.`}
      actions={
        <Button variant="default" onClick={pausing.toggle}>
          {isPaused ? "Resume events" : "Pause events"}
        </Button>
      }
    >
      <Filters search={search} onChange={change} />
      {tail.cursor !== undefined && (
        <Group gap={4} className="small faint">
          <span>
            Cursor <code className="mono">{tail.cursor}</code>
          </span>
          <CopyButton value={tail.cursor} name="the cursor" />
          <span>A program that resumes from this cursor misses no events.</span>
        </Group>
      )}
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
  const toggle = (type: string) => (chosen.includes(type) ? chosen.filter((one) => one !== type) : [...chosen, type]);
  return (
    <Stack gap="sm" component="search" aria-label="Events">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out as a row of chips in all browsers */}
      <div className="chips" role="group" aria-label="Event types">
        {eventTypes.map((type) => (
          <UnstyledButton
            key={type}
            className="chip"
            style={toneStyle(eventLabel(type).tone)}
            title={type}
            aria-pressed={chosen.includes(type)}
            onClick={() => onChange({ types: toggle(type).join(",") })}
          >
            <span className="dot" aria-hidden="true" />
            {eventLabel(type).text}
          </UnstyledButton>
        ))}
      </div>
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

/** The stream sends a heartbeat every 15 seconds, so its last message says how current the list is. */
function StreamState({ tail, isPaused }: { tail: Tail; isPaused: boolean }) {
  if (isPaused)
    return (
      <span className="fresh" role="status">
        paused
      </span>
    );
  if (tail.state === "connecting")
    return (
      <span className="fresh" role="status">
        connecting
      </span>
    );
  return <Fresh query={{ dataUpdatedAt: tail.updatedAt, error: tail.error, failureReason: null }} live />;
}

function EventList({ tail, hasFilters, onClear }: { tail: Tail; hasFilters: boolean; onClear(): void }) {
  if (tail.entries.length === 0) {
    if (tail.state === "connecting") return <Loading what="the events" rows={6} height={40} />;
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
      <ul className="list framed" aria-label="Events, newest first">
        {tail.entries.map(({ cursor, event }) => (
          <li key={cursor}>
            <EventRow cursor={cursor} event={event} />
          </li>
        ))}
      </ul>
      {tail.entries.length >= maxEvents && (
        <Text size="sm" c="dimmed" ta="center">
          Showing the newest {maxEvents} events. Use ListEvents to read older ones.
        </Text>
      )}
    </Stack>
  );
}
