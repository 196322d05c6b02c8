/** A point in time: how long ago in the text, the exact time for whoever points at it or copies it. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { Tooltip } from "@mantine/core";
import { useEffect, useState } from "react";

const units: [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const absolute = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

export function Time({ at }: { at: Timestamp }) {
  const date = timestampDate(at);
  const now = useNow();
  return (
    <Tooltip label={absolute.format(date)}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the exact time must be in reach of the keyboard too */}
      <time dateTime={date.toISOString()} tabIndex={0}>
        {sayRelative(date, now)}
      </time>
    </Tooltip>
  );
}

export function sayRelative(date: Date, now: number): string {
  const seconds = (date.getTime() - now) / 1000;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? [];
  return unit && size ? relative.format(Math.round(seconds / size), unit) : "just now";
}

/** The clock, each half minute, so that an open page does not say "just now" for an hour. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
