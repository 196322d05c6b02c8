/** The waiting mail for one destination, with buttons to retry, pause, resume and purge it. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Card, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { type Destination, DestinationState, QueueService } from "../../../src/gen/v1/queue_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";
import { StatusBadge, type StatusLabel } from "../parts/icons.tsx";
import { Fact, Facts } from "../parts/page.tsx";
import { ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";

export function DestinationCard({ subject }: { subject: Destination }) {
  const { destination, state } = subject;
  const isPaused = state === DestinationState.PAUSED;
  const options = { onSuccess: () => void invalidate(QueueService.method.listDestinations) };
  const retry = useMutation(QueueService.method.retryDestination, options);
  const pause = useMutation(QueueService.method.pauseDestination, options);
  const resume = useMutation(QueueService.method.resumeDestination, options);
  const [isPurging, setIsPurging] = useState(false);
  const error = retry.error ?? pause.error ?? resume.error;
  const pauseOrResume = isPaused ? resume : pause;
  return (
    <Card withBorder padding="md">
      <Stack gap="sm">
        <Group justify="space-between">
          <Group gap="xs" miw={0}>
            <Text fw={600} className="wrap">
              {destination}
            </Text>
            <StatusBadge of={subject.stalledSince && !isPaused ? stalled : stateLabel(state)} />
          </Group>
          <WriteOnly>
            <Group gap="xs">
              <Button
                size="xs"
                variant="default"
                loading={retry.isPending}
                aria-label={`Retry now: ${destination}`}
                onClick={() => retry.mutate({ destination })}
              >
                Retry now
              </Button>
              <Button
                size="xs"
                variant="default"
                loading={pauseOrResume.isPending}
                aria-label={`${isPaused ? "Resume" : "Pause"} ${destination}`}
                onClick={() => pauseOrResume.mutate({ destination })}
              >
                {isPaused ? "Resume" : "Pause"}
              </Button>
              <Button
                size="xs"
                variant="default"
                aria-label={`Purge ${destination}`}
                onClick={() => setIsPurging(true)}
              >
                Purge
              </Button>
            </Group>
          </WriteOnly>
        </Group>
        {error && <ProblemAlert error={error} />}
        <Facts>
          <Fact name="Waiting">{subject.queued.toLocaleString("en")}</Fact>
          <Fact name="In progress">{subject.inFlight.toLocaleString("en")}</Fact>
          <Fact name="Oldest">{subject.oldestAt && <Time at={subject.oldestAt} />}</Fact>
          <Fact name="Next attempt">{subject.nextAttemptAt && <Time at={subject.nextAttemptAt} />}</Fact>
          <Fact name="Consecutive failures">{subject.failures > 0 && String(subject.failures)}</Fact>
          <Fact name="Mail servers">{subject.mxSite}</Fact>
          <Fact name="No answer since">{subject.stalledSince && <Time at={subject.stalledSince} />}</Fact>
        </Facts>
        {subject.lastReply !== "" && (
          <Text size="sm" className="wrap reply" component="blockquote" m={0}>
            {subject.lastReply}
            {subject.lastReplyAt && (
              <Text span size="xs" c="dimmed">
                {" "}
                <Time at={subject.lastReplyAt} />
              </Text>
            )}
          </Text>
        )}
      </Stack>
      <Purge subject={subject} isOpen={isPurging} onClose={() => setIsPurging(false)} />
    </Card>
  );
}

function Purge({ subject, isOpen, onClose }: { subject: Destination; isOpen: boolean; onClose(): void }) {
  const purge = useMutation(QueueService.method.purgeDestination, {
    onSuccess() {
      onClose();
      void invalidate(QueueService.method.listDestinations);
    },
  });
  return (
    <Confirm
      isOpen={isOpen}
      title="Purge this mail?"
      confirmLabel="Purge mail"
      cancelLabel="Keep mail"
      isPending={purge.isPending}
      error={purge.error}
      onConfirm={() => purge.mutate({ destination: subject.destination })}
      onClose={onClose}
    >
      <Text>
        Every waiting recipient for <strong>{subject.destination}</strong> (now {subject.queued.toLocaleString("en")})
        fails and is not retried. This cannot be undone.
      </Text>
    </Confirm>
  );
}

const labels: Partial<Record<DestinationState, StatusLabel>> = {
  [DestinationState.ACTIVE]: { text: "Active", color: "green", meaning: "Mail is being delivered." },
  [DestinationState.BACKING_OFF]: {
    text: "Backing off",
    color: "orange",
    meaning: "The receiver rejects mail or cannot be reached.",
  },
  [DestinationState.PAUSED]: { text: "Paused", color: "gray", meaning: "Mail waits until you resume it." },
};

const stalled: StatusLabel = {
  text: "Not answering",
  color: "orange",
  meaning: "The receiver leaves connections open without an answer. One email at a time probes it; the rest waits.",
};

function stateLabel(state: DestinationState): StatusLabel {
  return labels[state] ?? { text: `State ${state}`, color: "gray" };
}
