/** Makes a webhook: a form, then its signing secret, shown this once. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Stack } from "@mantine/core";
import type { FormEvent } from "react";
import { WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { changed } from "../api/changed.ts";
import { explain } from "../api/problem.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { useWebhookFields, WebhookFields } from "./fields.tsx";

export function CreateWebhook({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <SecretOnce
      isOpen={isOpen}
      onClose={onClose}
      title="Create a webhook"
      madeTitle="The webhook is made"
      label="Signing secret"
      form={(onMade, onCancel) => <Form onMade={onMade} onCancel={onCancel} />}
    />
  );
}

function Form({ onMade, onCancel }: { onMade(secret: string): void; onCancel(): void }) {
  const { values, change } = useWebhookFields({ url: "", eventTypes: [], description: "" });
  const creation = useMutation(WebhookService.method.createWebhook, {
    // The answer holds the secret: it must not stay in the cache of mutations.
    gcTime: 0,
    onSuccess({ signingSecret }) {
      void changed(WebhookService.method.listWebhooks);
      onMade(signingSecret);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate({ ...values, url: values.url.trim() });
  };
  const errors = creation.error ? explain(creation.error).fields : {};
  return (
    <form onSubmit={submit}>
      <Stack>
        <WebhookFields values={values} change={change} errors={errors} />
        {creation.error && Object.keys(errors).length === 0 && <ProblemAlert error={creation.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={creation.isPending}>
            Create webhook
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
