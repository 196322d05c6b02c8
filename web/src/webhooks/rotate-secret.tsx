/** The dialog that rotates the signing secret of a webhook. The new secret is shown only once. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Stack, Text } from "@mantine/core";
import { WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { SecretOnce } from "../parts/secret-once.tsx";
import { ProblemAlert } from "../parts/states.tsx";

export function RotateSecret({ id, isOpen, onClose }: { id: string; isOpen: boolean; onClose(): void }) {
  return (
    <SecretOnce
      isOpen={isOpen}
      onClose={onClose}
      title="Rotate the signing secret?"
      createdTitle="Signing secret rotated"
      label="New signing secret"
      form={(onCreated, onCancel) => <ConfirmRotation id={id} onCreated={onCreated} onCancel={onCancel} />}
    />
  );
}

function ConfirmRotation({
  id,
  onCreated,
  onCancel,
}: {
  id: string;
  onCreated(secret: string): void;
  onCancel(): void;
}) {
  const rotation = useMutation(WebhookService.method.rotateWebhookSecret, {
    gcTime: 0,
    onSuccess({ signingSecret }) {
      void invalidate(WebhookService.method.getWebhook);
      onCreated(signingSecret);
    },
  });
  return (
    <Stack>
      <Text>
        Posthorn creates a new secret. For 24 hours every delivery is signed with both the new and the old secret, so
        that you can update your endpoint without missing events.
      </Text>
      {rotation.error && <ProblemAlert error={rotation.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel} data-autofocus>
          Cancel
        </Button>
        <Button loading={rotation.isPending} onClick={() => rotation.mutate({ id })}>
          Rotate secret
        </Button>
      </Group>
    </Stack>
  );
}
