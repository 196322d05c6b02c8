/** The dialog that changes the URL, the event types or the description of a webhook. */
import { useMutation } from "@connectrpc/connect-query";
import { Modal } from "@mantine/core";
import { type Webhook, WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Form, formErrors } from "../parts/form.tsx";
import { useWebhookFields, WebhookFields } from "./fields.tsx";

export function EditWebhook(props: { webhook: Webhook; isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={props.isOpen} onClose={props.onClose} title="Edit webhook">
      <Fields webhook={props.webhook} onClose={props.onClose} />
    </Modal>
  );
}

function Fields({ webhook, onClose }: { webhook: Webhook; onClose(): void }) {
  const { id, url, eventTypes, description } = webhook;
  const { values, change } = useWebhookFields({ url, eventTypes, description });
  const update = useMutation(WebhookService.method.updateWebhook, {
    onSuccess() {
      void invalidate(WebhookService.method.getWebhook, WebhookService.method.listWebhooks);
      onClose();
    },
  });
  const submit = () => {
    // In UpdateWebhook, an empty list means "unchanged" and "*" means all types.
    const types = values.eventTypes.length === 0 ? ["*"] : values.eventTypes;
    update.mutate({ id, url: values.url.trim(), description: values.description, eventTypes: types });
  };
  const { fields: errors, error } = formErrors(update.error);
  return (
    <Form submitLabel="Save changes" isPending={update.isPending} error={error} onSubmit={submit} onCancel={onClose}>
      <WebhookFields values={values} change={change} errors={errors} />
    </Form>
  );
}
