/** Asks before mail for a destination is paused, resumed or purged. */
import { useMutation } from "@connectrpc/connect-query";
import { Text } from "@mantine/core";
import { type Destination, QueueService } from "../../../src/gen/v1/queue_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";

export type Act = "pause" | "resume" | "purge";

export function ConfirmAct({ one, act, onClose }: { one: Destination; act: Act | undefined; onClose(): void }) {
  const { destination } = one;
  const options = {
    onSuccess() {
      onClose();
      void invalidate(QueueService.method.listDestinations);
    },
  };
  const pause = useMutation(QueueService.method.pauseDestination, options);
  const resume = useMutation(QueueService.method.resumeDestination, options);
  const purge = useMutation(QueueService.method.purgeDestination, options);
  const dialog = (of: Act, call: typeof pause | typeof resume | typeof purge) => ({
    isOpen: act === of,
    isPending: call.isPending,
    error: call.error,
    onConfirm: () => call.mutate({ destination }),
    onClose,
  });
  return (
    <>
      <Confirm title="Pause this mail?" confirmLabel="Pause mail" isHarmless {...dialog("pause", pause)}>
        <Text>
          No new attempts are made for <strong>{destination}</strong> until you resume it. Attempts in progress finish,
          and waiting mail still expires.
        </Text>
      </Confirm>
      <Confirm title="Resume this mail?" confirmLabel="Resume mail" isHarmless {...dialog("resume", resume)}>
        <Text>
          Mail for <strong>{destination}</strong> (now {one.queued.toLocaleString("en")} recipients) is delivered again.
        </Text>
      </Confirm>
      <Confirm title="Purge this mail?" confirmLabel="Purge mail" cancelLabel="Keep mail" {...dialog("purge", purge)}>
        <Text>
          Every waiting recipient at <strong>{destination}</strong> (now {one.queued.toLocaleString("en")}, of which{" "}
          {one.scheduled.toLocaleString("en")} scheduled) fails and is not retried. This cannot be undone.
        </Text>
      </Confirm>
    </>
  );
}
