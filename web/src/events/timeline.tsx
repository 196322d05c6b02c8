/** Events in order of time, each with a dot in the color of its label. */
import type { EventEntry } from "../../../src/gen/v1/event_pb.ts";
import { eventLabel } from "./describe.ts";
import { EventSummary } from "./event-summary.tsx";

export function Timeline({ entries, label }: { entries: EventEntry[]; label: string }) {
  return (
    <ol className="timeline" aria-label={label}>
      {entries.map(
        ({ cursor, event }) =>
          event && (
            <li key={cursor} style={dot(eventLabel(event.type).color)}>
              <EventSummary event={event} />
            </li>
          ),
      )}
    </ol>
  );
}

function dot(color: string) {
  return { "--dot": `var(--mantine-color-${color}-6)` } as Record<string, string>;
}
