/** Makes a webhook: a form, then its signing secret, shown this once. */
import { useMutation } from "@connectrpc/connect-query";
import { WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { changed } from "../api/changed.ts";
import { Form, refusals } from "../parts/form.tsx";
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
      form={(onMade, onCancel) => <Fields onMade={onMade} onCancel={onCancel} />}
    />
  );
}

function Fields({ onMade, onCancel }: { onMade(secret: string): void; onCancel(): void }) {
  const { values, change } = useWebhookFields({ url: "", eventTypes: [], description: "" });
  const creation = useMutation(WebhookService.method.createWebhook, {
    // The answer holds the secret: it must not stay in the cache of mutations.
    gcTime: 0,
    onSuccess({ signingSecret }) {
      void changed(WebhookService.method.listWebhooks);
      onMade(signingSecret);
    },
  });
  const submit = () => {
    creation.mutate({ ...values, url: values.url.trim() });
  };
  const { fields: errors, error } = refusals(creation.error);
  return (
    <Form act="Create webhook" isPending={creation.isPending} error={error} onSubmit={submit} onCancel={onCancel}>
      <WebhookFields values={values} change={change} errors={errors} />
    </Form>
  );
}
