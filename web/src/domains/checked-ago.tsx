/** When DNS was last checked, counted in seconds while it is recent. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { Time, useSeconds } from "../parts/time.tsx";

export function CheckedAgo({ at }: { at: Timestamp | undefined }) {
  const now = useSeconds();
  if (!at) return "Not checked yet";
  const seconds = Math.max(0, Math.floor((now - timestampDate(at).getTime()) / 1000));
  if (seconds >= 60)
    return (
      <>
        Checked <Time at={at} />
      </>
    );
  return `Checked ${seconds < 2 ? "just now" : `${seconds} seconds ago`}`;
}
