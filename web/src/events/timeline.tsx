/** Events one below the other, each with a dot in its colour. */
import type { EventEntry } from "../../../src/gen/v1/event_pb.ts";
import { wordOf } from "./describe.ts";
import { ToldEvent } from "./told-event.tsx";

export function Timeline({ entries, label }: { entries: EventEntry[]; label: string }) {
  return (
    <ol className="timeline" aria-label={label}>
      {entries.map(
        ({ cursor, event }) =>
          event && (
            <li key={cursor} style={dot(wordOf(event.type).color)}>
              <ToldEvent event={event} />
            </li>
          ),
      )}
    </ol>
  );
}

function dot(color: string) {
  return { "--dot": `var(--mantine-color-${color}-6)` } as Record<string, string>;
}
