/** Gives a webhook a new signing secret, shown this once. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Stack, Text } from "@mantine/core";
import { WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { changed } from "../api/changed.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";

export function RotateSecret({ id, isOpen, onClose }: { id: string; isOpen: boolean; onClose(): void }) {
  return (
    <SecretOnce
      isOpen={isOpen}
      onClose={onClose}
      title="Rotate the signing secret?"
      madeTitle="The new secret is in use"
      label="New signing secret"
      form={(onMade, onCancel) => <Ask id={id} onMade={onMade} onCancel={onCancel} />}
    />
  );
}

function Ask({ id, onMade, onCancel }: { id: string; onMade(secret: string): void; onCancel(): void }) {
  const rotation = useMutation(WebhookService.method.rotateWebhookSecret, {
    gcTime: 0,
    onSuccess({ signingSecret }) {
      void changed(WebhookService.method.getWebhook);
      onMade(signingSecret);
    },
  });
  return (
    <Stack>
      <Text>
        A new secret is made. For 24 hours every delivery carries a signature of the new and of the old one, so that
        your endpoint can change over without missing anything.
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
