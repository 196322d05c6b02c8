/** Shows a timestamp: the relative time with the exact time as a tooltip, or both with `long`. */
import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useEffect, useState, useSyncExternalStore } from "react";
import { clockText, dayText } from "./date-text.ts";
import { formatRelative } from "./relative-time.ts";

const absolute = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

export function Time({ at, long = false }: { at: Timestamp; long?: boolean }) {
  const date = timestampDate(at);
  const exact = absolute.format(date);
  const relative = formatRelative(date, useNow());
  return (
    <time dateTime={date.toISOString()} title={exact}>
      {long ? `${exact} (${relative})` : relative}
    </time>
  );
}

/** The same for a time in a JSON response of /auth. */
export function DateTime({ at }: { at: string }) {
  return <Time at={timestampFromDate(new Date(at))} />;
}

/** One timer updates all times on the page every 30 seconds, so that "just now" does not stay on an open page. */
let now = new Date();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

export function useNow(): Date {
  return useSyncExternalStore(subscribe, () => now);
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    now = new Date();
    timer = setInterval(() => {
      now = new Date();
      for (const listener of listeners) listener();
    }, 30_000);
  }
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}

/** The time in milliseconds, for texts that count seconds. */
export function useSeconds(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

const today = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const thisWeek = new Intl.DateTimeFormat("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit" });
const earlier = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** A time in a dense table: as short as it is clear, with the exact time as a tooltip. */
export function LogTime({ at }: { at: Timestamp }) {
  const date = timestampDate(at);
  return (
    <time dateTime={date.toISOString()} title={absolute.format(date)}>
      {shortText(date, useNow())}
    </time>
  );
}

function shortText(date: Date, from: Date): string {
  if (date.toDateString() === from.toDateString()) return today.format(date);
  if (Math.abs(from.getTime() - date.getTime()) < 6 * 86_400_000) return thisWeek.format(date);
  return shortDay(date, from);
}

function shortDay(date: Date, from: Date): string {
  return date.getFullYear() === from.getFullYear() ? earlier.format(date) : dayText(date);
}

/** A time in a timeline: to the second on the same day, otherwise with the date. */
export function StepTime({ at }: { at: Timestamp }) {
  const date = timestampDate(at);
  const now = useNow();
  const isToday = date.toDateString() === now.toDateString();
  return (
    <time dateTime={date.toISOString()} title={absolute.format(date)}>
      {!isToday && `${shortDay(date, now)}, `}
      {clockText(date)}
    </time>
  );
}
