/** What happened in order of time: events, and steps before and after them that have no event. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ReactNode } from "react";
import type { EventEntry } from "../../../src/gen/v1/event_pb.ts";
import { type Tone, toneStyle } from "../parts/outcome.tsx";
import { StepTime } from "../parts/time.tsx";
import { describe } from "./describe.ts";
import { EventSummary } from "./event-summary.tsx";
import "./timeline.css";

export interface Step {
  key: string;
  at: Timestamp | undefined;
  tone: Tone;
  what: ReactNode;
  /** True: it has not happened yet. */
  isAhead?: boolean;
}

export function Timeline({ entries, label }: { entries: readonly EventEntry[]; label: string }) {
  return <Steps steps={stepsOf(entries)} label={label} />;
}

export function stepsOf(entries: readonly EventEntry[]): Step[] {
  return entries.flatMap(({ cursor, event }) =>
    event
      ? [
          {
            key: cursor,
            at: event.createdAt,
            tone: describe(event).label.tone,
            what: <EventSummary event={event} />,
          },
        ]
      : [],
  );
}

export function Steps({ steps, label }: { steps: readonly Step[]; label: string }) {
  return (
    <ol className="timeline" aria-label={label}>
      {steps.map(({ key, at, tone, what, isAhead }) => (
        <li key={key} style={toneStyle(tone)} data-ahead={isAhead || undefined}>
          <span className="timeline-time">{at && <StepTime at={at} />}</span>
          <span className="dot" aria-hidden="true" />
          <div className="timeline-what wrap">{what}</div>
        </li>
      ))}
    </ol>
  );
}
