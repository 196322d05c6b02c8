/** Changes the address, the events or the description of a webhook. */
import { useMutation } from "@connectrpc/connect-query";
import { Modal } from "@mantine/core";
import { type Webhook, WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { changed } from "../api/changed.ts";
import { Form, refusals } from "../parts/form.tsx";
import { useWebhookFields, WebhookFields } from "./fields.tsx";

export function EditWebhook(props: { webhook: Webhook; isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={props.isOpen} onClose={props.onClose} title="Change the webhook">
      <Fields webhook={props.webhook} onClose={props.onClose} />
    </Modal>
  );
}

function Fields({ webhook, onClose }: { webhook: Webhook; onClose(): void }) {
  const { id, url, eventTypes, description } = webhook;
  const { values, change } = useWebhookFields({ url, eventTypes, description });
  const update = useMutation(WebhookService.method.updateWebhook, {
    onSuccess() {
      void changed(WebhookService.method.getWebhook, WebhookService.method.listWebhooks);
      onClose();
    },
  });
  const submit = () => {
    // An empty list would mean "unchanged"; the star means all.
    const types = values.eventTypes.length === 0 ? ["*"] : values.eventTypes;
    update.mutate({ id, url: values.url.trim(), description: values.description, eventTypes: types });
  };
  const { fields: errors, error } = refusals(update.error);
  return (
    <Form act="Save" isPending={update.isPending} error={error} onSubmit={submit} onCancel={onClose}>
      <WebhookFields values={values} change={change} errors={errors} />
    </Form>
  );
}
