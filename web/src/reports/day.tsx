/** A day in UTC, as reports count. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { useNow } from "../parts/time.tsx";
import { dayName, dayOf } from "./range.ts";

export function Day({ at }: { at: Timestamp }) {
  return (
    <time dateTime={dayOf(at)} title={`${timestampDate(at).toISOString().slice(0, 10)}, UTC`}>
      {dayName(at, useNow().getTime())}
    </time>
  );
}
