/** Posts a made-up event to a webhook now and shows what the endpoint answered. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Modal, NativeSelect, Stack } from "@mantine/core";
import { useState } from "react";
import { WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { changed } from "../api/changed.ts";
import { eventTypes } from "../events/describe.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { DeliveryDetail } from "./delivery.tsx";

export function SendTest({ id, isOpen, onClose }: { id: string; isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Send a test event" size="lg">
      <Test id={id} onClose={onClose} />
    </Modal>
  );
}

function Test({ id, onClose }: { id: string; onClose(): void }) {
  const [eventType, setEventType] = useState("email.delivered");
  const test = useMutation(WebhookService.method.sendTestWebhook, {
    onSuccess: () => void changed(WebhookService.method.listWebhookDeliveries),
  });
  return (
    <Stack>
      <NativeSelect
        label="Event type"
        description="Its metadata holds posthornTest, so that your endpoint can tell it from a real one."
        data={eventTypes}
        value={eventType}
        onChange={(event) => setEventType(event.currentTarget.value)}
        data-autofocus
      />
      {test.error && <ProblemAlert error={test.error} />}
      {test.data?.delivery && !test.isPending && <DeliveryDetail delivery={test.data.delivery} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Done
        </Button>
        <Button loading={test.isPending} onClick={() => test.mutate({ id, eventType })}>
          {test.data ? "Send another" : "Send test"}
        </Button>
      </Group>
    </Stack>
  );
}
