/** The dialog that creates a webhook: first a form, then the signing secret, which is shown only once. */
import { useMutation } from "@connectrpc/connect-query";
import { WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Form, formErrors } from "../parts/form.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { useWebhookFields, WebhookFields } from "./fields.tsx";

export function CreateWebhook({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <SecretOnce
      isOpen={isOpen}
      onClose={onClose}
      title="Create webhook"
      createdTitle="Webhook created"
      label="Signing secret"
      form={(onCreated, onCancel) => <Fields onCreated={onCreated} onCancel={onCancel} />}
    />
  );
}

function Fields({ onCreated, onCancel }: { onCreated(secret: string): void; onCancel(): void }) {
  const { values, change } = useWebhookFields({ url: "", eventTypes: [], description: "" });
  const creation = useMutation(WebhookService.method.createWebhook, {
    // The response contains the secret, so it must not stay in the mutation cache.
    gcTime: 0,
    onSuccess({ signingSecret }) {
      void invalidate(WebhookService.method.listWebhooks);
      onCreated(signingSecret);
    },
  });
  const submit = () => {
    creation.mutate({ ...values, url: values.url.trim() });
  };
  const { fields: errors, error } = formErrors(creation.error);
  return (
    <Form
      submitLabel="Create webhook"
      isPending={creation.isPending}
      error={error}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <WebhookFields values={values} change={change} errors={errors} />
    </Form>
  );
}
