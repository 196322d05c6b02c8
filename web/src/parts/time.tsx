/** A point in time: how long ago in the text, the exact time for whoever points at it. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { useEffect, useState } from "react";
import { sayRelative } from "./relative-time.ts";

const absolute = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

export function Time({ at }: { at: Timestamp }) {
  const date = timestampDate(at);
  return (
    <time dateTime={date.toISOString()} title={absolute.format(date)}>
      {sayRelative(date, useNow())}
    </time>
  );
}

/** The clock, each half minute, so that an open page does not say "just now" for an hour. */
function useNow(): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
