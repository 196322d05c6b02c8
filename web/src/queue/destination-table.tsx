/** The destinations of the queue as a table: each row links to its emails and has the actions for them. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, VisuallyHidden } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { type Destination, DestinationState, QueueService } from "../../../src/gen/v1/queue_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Mark } from "../parts/outcome.tsx";
import { ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { type Act, ConfirmAct } from "./confirm-act.tsx";
import { destinationLabel, dueOf, type Retried, waitingOf } from "./labels.ts";
import "./queue.css";

type Props = { onRetried(retried: Retried): void };

export function DestinationTable({ destinations, onRetried }: Props & { destinations: readonly Destination[] }) {
  return (
    <div className="card">
      <table className="table queue" aria-label="Destinations, most mail first">
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Recipient domain</th>
            <th scope="col" className="end">
              Waiting
            </th>
            <th scope="col" className="end">
              Delayed
            </th>
            <th scope="col" className="end">
              Scheduled
            </th>
            <th scope="col" className="end">
              In progress
            </th>
            <th scope="col">Oldest</th>
            <th scope="col">Next attempt</th>
            <th scope="col">
              <VisuallyHidden>Actions</VisuallyHidden>
            </th>
          </tr>
        </thead>
        {destinations.map((one) => (
          <DestinationRow key={one.destination} one={one} onRetried={onRetried} />
        ))}
      </table>
    </div>
  );
}

function DestinationRow({ one, onRetried }: Props & { one: Destination }) {
  const { destination } = one;
  const isPaused = one.state === DestinationState.PAUSED;
  const { text, tone, meaning } = destinationLabel(one);
  const [act, setAct] = useState<Act>();
  // These options also run when the row has disappeared, because its mail has left the queue.
  const retry = useMutation(QueueService.method.retryDestination, {
    onMutate: () => one,
    onSuccess({ recipients: tried }, _, before) {
      onRetried({ destination, tried, before, at: Date.now() });
      void invalidate(QueueService.method.listDestinations);
    },
  });
  const hasRemark = one.lastReply !== "" || retry.error !== null;
  return (
    <tbody>
      <tr>
        <td>
          <Mark tone={tone} title={meaning}>
            {text}
          </Mark>
        </td>
        <td className="key wrap">
          <Link to="/emails" search={{ destination, open: "yes" }} aria-label={`Emails that wait for ${destination}`}>
            {destination}
          </Link>
          {one.mxSite !== "" && one.mxSite !== destination && <span className="faint small site">{one.mxSite}</span>}
        </td>
        <Count name="Waiting" of={waitingOf(one)} />
        <Count name="Delayed" of={one.delayed} />
        <Count name="Scheduled" of={one.scheduled} />
        <Count name="In progress" of={one.inFlight} />
        <td data-name="Oldest" className="faint">
          {one.oldestAt && <Time at={one.oldestAt} />}
        </td>
        <td data-name="Next attempt" className="faint">
          {isPaused ? "paused" : one.nextAttemptAt && <Time at={one.nextAttemptAt} />}
        </td>
        <td className="acts">
          <WriteOnly>
            <Group gap={4} justify="flex-end" wrap="nowrap">
              <Button
                size="compact-sm"
                variant="default"
                loading={retry.isPending}
                disabled={isPaused || dueOf(one) === 0}
                aria-label={`Try now: ${destination}`}
                onClick={() => retry.mutate({ destination })}
              >
                Try now
              </Button>
              <Button
                size="compact-sm"
                variant="default"
                aria-label={`${isPaused ? "Resume" : "Pause"} ${destination}`}
                onClick={() => setAct(isPaused ? "resume" : "pause")}
              >
                {isPaused ? "Resume" : "Pause"}
              </Button>
              <Button
                size="compact-sm"
                variant="default"
                disabled={one.queued === 0}
                aria-label={`Purge ${destination}`}
                onClick={() => setAct("purge")}
              >
                Purge
              </Button>
            </Group>
          </WriteOnly>
          <ConfirmAct one={one} act={act} onClose={() => setAct(undefined)} />
        </td>
      </tr>
      {hasRemark && (
        <tr className="remark">
          <td />
          <td colSpan={8}>
            {retry.error && <ProblemAlert error={retry.error} />}
            {one.lastReply !== "" && (
              <p className="wrap">
                <span className="faint">
                  Last reply {one.lastReplyAt && <Time at={one.lastReplyAt} />}
                  {one.failures > 1 && `, ${one.failures} failures in a row`}:
                </span>{" "}
                <span className="mono">{one.lastReply}</span>
              </p>
            )}
          </td>
        </tr>
      )}
    </tbody>
  );
}

function Count({ name, of }: { name: string; of: number }) {
  return (
    <td data-name={name} className={of === 0 ? "end faint" : "end"}>
      {of.toLocaleString("en")}
    </td>
  );
}
