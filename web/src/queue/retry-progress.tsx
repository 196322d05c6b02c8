/** What a retry of a destination did. It reads the destination itself: the list may be filtered, or have it on a page that is not loaded. */
import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useState } from "react";
import { QueueService } from "../../../src/gen/v1/queue_pb.ts";
import { type Retried, retryProgress } from "./labels.ts";

export function RetryProgress({ retried }: { retried: Retried }) {
  const { destination, tried, at } = retried;
  const [end, setEnd] = useState<string>();
  const query = useQuery(
    QueueService.method.listDestinations,
    { search: destination, pageSize: 100 },
    { enabled: end === undefined, refetchInterval: 2_000 },
  );
  const found = query.data?.data.find((one) => one.destination === destination);
  // The cache may have an answer from before the retry.
  const isKnown = query.dataUpdatedAt >= at && (found !== undefined || query.data?.nextPageToken === "");
  const progress = isKnown ? retryProgress(retried, found) : undefined;
  const last = progress?.done ? progress.text : undefined;
  useEffect(() => setEnd((end) => end ?? last), [last]);
  const started = `Retrying ${tried.toLocaleString("en")} ${tried === 1 ? "recipient" : "recipients"} at ${destination} now.`;
  return (
    <p className="retried wrap" role="status">
      {end ?? progress?.text ?? started}
    </p>
  );
}
