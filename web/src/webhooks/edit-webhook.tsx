/** Changes the address, the events or the description of a webhook. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Modal, Stack } from "@mantine/core";
import type { FormEvent } from "react";
import { type Webhook, WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { changed } from "../api/changed.ts";
import { explain } from "../api/problem.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { useWebhookFields, WebhookFields } from "./fields.tsx";

export function EditWebhook(props: { webhook: Webhook; isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={props.isOpen} onClose={props.onClose} title="Change the webhook">
      <Form webhook={props.webhook} onClose={props.onClose} />
    </Modal>
  );
}

function Form({ webhook, onClose }: { webhook: Webhook; onClose(): void }) {
  const { id, url, eventTypes, description } = webhook;
  const { values, change } = useWebhookFields({ url, eventTypes, description });
  const update = useMutation(WebhookService.method.updateWebhook, {
    onSuccess() {
      void changed(WebhookService.method.getWebhook, WebhookService.method.listWebhooks);
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // An empty list would mean "unchanged"; the star means all.
    const types = values.eventTypes.length === 0 ? ["*"] : values.eventTypes;
    update.mutate({ id, url: values.url.trim(), description: values.description, eventTypes: types });
  };
  const errors = update.error ? explain(update.error).fields : {};
  return (
    <form onSubmit={submit}>
      <Stack>
        <WebhookFields values={values} change={change} errors={errors} />
        {update.error && Object.keys(errors).length === 0 && <ProblemAlert error={update.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={update.isPending}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
