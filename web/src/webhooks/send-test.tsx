/** The dialog that posts a sample event to a webhook and shows the endpoint's response. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Modal, NativeSelect, Stack } from "@mantine/core";
import { useState } from "react";
import { type Webhook, WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { eventTypes } from "../events/describe.ts";
import { ProblemAlert } from "../parts/states.tsx";
import { DeliveryDetail } from "./delivery.tsx";
import { defaultTestType } from "./labels.ts";

export function SendTest({ webhook, isOpen, onClose }: { webhook: Webhook; isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Send test event" size="lg">
      <TestForm webhook={webhook} onClose={onClose} />
    </Modal>
  );
}

function TestForm({ webhook: { id, eventTypes: taken }, onClose }: { webhook: Webhook; onClose(): void }) {
  const [eventType, setEventType] = useState(defaultTestType(taken));
  const isTaken = taken.length === 0 || taken.includes(eventType);
  const test = useMutation(WebhookService.method.sendTestWebhook, {
    onSuccess: () => void invalidate(WebhookService.method.listWebhookDeliveries),
  });
  return (
    <Stack>
      <NativeSelect
        label="Event type"
        description="Its metadata contains posthornTest, so that your endpoint can distinguish it from a real event."
        data={eventTypes}
        error={isTaken ? undefined : "This webhook does not receive events of this type, except as a test."}
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
          {test.data ? "Send another event" : "Send test event"}
        </Button>
      </Group>
    </Stack>
  );
}
