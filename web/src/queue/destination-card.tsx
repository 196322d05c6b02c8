/** The mail that waits for one destination, and the commands over it. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Card, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { type Destination, DestinationState, QueueService } from "../../../src/gen/v1/queue_pb.ts";
import { changed } from "../api/changed.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Fact, Facts } from "../parts/facts.tsx";
import { Mark } from "../parts/mark.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { stateWord } from "./words.ts";

export function DestinationCard({ subject }: { subject: Destination }) {
  const { destination, state } = subject;
  const isPaused = state === DestinationState.PAUSED;
  const options = { onSuccess: () => void changed(QueueService.method.listDestinations) };
  const retry = useMutation(QueueService.method.retryDestination, options);
  const pause = useMutation(QueueService.method.pauseDestination, options);
  const resume = useMutation(QueueService.method.resumeDestination, options);
  const [isPurging, setIsPurging] = useState(false);
  const error = retry.error ?? pause.error ?? resume.error;
  const holding = isPaused ? resume : pause;
  return (
    <Card withBorder padding="md">
      <Stack gap="sm">
        <Group justify="space-between">
          <Group gap="xs" miw={0}>
            <Text fw={600} className="wrap">
              {destination}
            </Text>
            <Mark of={stateWord(state)} />
          </Group>
          <WriteOnly>
            <Group gap="xs">
              <Button
                size="xs"
                variant="default"
                loading={retry.isPending}
                aria-label={`Try now: ${destination}`}
                onClick={() => retry.mutate({ destination })}
              >
                Try now
              </Button>
              <Button
                size="xs"
                variant="default"
                loading={holding.isPending}
                aria-label={`${isPaused ? "Resume" : "Pause"} ${destination}`}
                onClick={() => holding.mutate({ destination })}
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
          <Fact name="Under way">{subject.inFlight.toLocaleString("en")}</Fact>
          <Fact name="Oldest">{subject.oldestAt && <Time at={subject.oldestAt} />}</Fact>
          <Fact name="Next attempt">{subject.nextAttemptAt && <Time at={subject.nextAttemptAt} />}</Fact>
          <Fact name="Failures in a row">{subject.failures > 0 && String(subject.failures)}</Fact>
          <Fact name="Mail servers">{subject.mxSite}</Fact>
        </Facts>
        {subject.lastReply !== "" && (
          <Text size="sm" className="wrap said" component="blockquote" m={0}>
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
      void changed(QueueService.method.listDestinations);
    },
  });
  return (
    <Confirm
      isOpen={isOpen}
      title="Give up this mail?"
      act="Purge"
      keep="Keep it"
      isPending={purge.isPending}
      error={purge.error}
      onConfirm={() => purge.mutate({ destination: subject.destination })}
      onClose={onClose}
    >
      <Text>
        Every recipient that waits for <strong>{subject.destination}</strong> ({subject.queued.toLocaleString("en")}{" "}
        now) ends as failed and is not tried again. This cannot be undone.
      </Text>
    </Confirm>
  );
}
