/** A point in time: how long ago in the text, the exact time for whoever points at it, or both where there is room. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { useSyncExternalStore } from "react";
import { sayRelative } from "./relative-time.ts";

const absolute = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

export function Time({ at, long = false }: { at: Timestamp; long?: boolean }) {
  const date = timestampDate(at);
  const exact = absolute.format(date);
  const relative = sayRelative(date, useNow());
  return (
    <time dateTime={date.toISOString()} title={exact}>
      {long ? `${exact} (${relative})` : relative}
    </time>
  );
}

/** One clock for all times on the page, each half minute, so that an open page does not say "just now" for an hour. */
let now = new Date();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function useNow(): Date {
  return useSyncExternalStore(follow, () => now);
}

function follow(listener: () => void): () => void {
  if (listeners.size === 0) {
    now = new Date();
    timer = setInterval(() => {
      now = new Date();
      for (const tell of listeners) tell();
    }, 30_000);
  }
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}
