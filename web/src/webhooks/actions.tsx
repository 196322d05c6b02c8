/** The actions of a webhook: send a test event, edit, rotate the secret, enable or disable, delete. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Webhook, WebhookService, WebhookStatus } from "../../../src/gen/v1/webhook_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Menu } from "../parts/menu.tsx";
import { EditWebhook } from "./edit-webhook.tsx";
import { RotateSecret } from "./rotate-secret.tsx";
import { SendTest } from "./send-test.tsx";

type Dialog = "test" | "edit" | "rotate" | "switch" | "delete";

export function WebhookActions({ webhook }: { webhook: Webhook }) {
  const [open, setOpen] = useState<Dialog>();
  const close = () => setOpen(undefined);
  const isEnabled = webhook.status === WebhookStatus.ENABLED;
  return (
    <>
      <Button onClick={() => setOpen("test")}>Send test event</Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default">More actions</Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setOpen("edit")}>Edit…</Menu.Item>
          <Menu.Item onClick={() => setOpen("rotate")}>Rotate secret…</Menu.Item>
          <Menu.Item onClick={() => setOpen("switch")}>{isEnabled ? "Disable…" : "Enable…"}</Menu.Item>
          <Menu.Item onClick={() => setOpen("delete")}>Delete…</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <SendTest webhook={webhook} isOpen={open === "test"} onClose={close} />
      <EditWebhook webhook={webhook} isOpen={open === "edit"} onClose={close} />
      <RotateSecret id={webhook.id} isOpen={open === "rotate"} onClose={close} />
      <SwitchWebhook webhook={webhook} isOpen={open === "switch"} onClose={close} />
      <DeleteWebhook webhook={webhook} isOpen={open === "delete"} onClose={close} />
    </>
  );
}

function SwitchWebhook({ webhook, isOpen, onClose }: { webhook: Webhook; isOpen: boolean; onClose(): void }) {
  const isEnabled = webhook.status === WebhookStatus.ENABLED;
  const update = useMutation(WebhookService.method.updateWebhook, {
    onSuccess() {
      onClose();
      void invalidate(WebhookService.method.getWebhook, WebhookService.method.listWebhooks);
    },
  });
  return (
    <Confirm
      isOpen={isOpen}
      title={isEnabled ? "Disable this webhook?" : "Enable this webhook?"}
      confirmLabel={isEnabled ? "Disable webhook" : "Enable webhook"}
      isHarmless={!isEnabled}
      isPending={update.isPending}
      error={update.error}
      onConfirm={() => update.mutate({ id: webhook.id, enabled: !isEnabled })}
      onClose={onClose}
    >
      <Text>
        {isEnabled
          ? "Posthorn stops posting events, and waiting deliveries fail. You can redeliver them after you enable the webhook again."
          : "Posthorn posts events again, starting with new ones."}
      </Text>
    </Confirm>
  );
}

function DeleteWebhook({ webhook, isOpen, onClose }: { webhook: Webhook; isOpen: boolean; onClose(): void }) {
  const navigate = useNavigate();
  const removal = useMutation(WebhookService.method.deleteWebhook, {
    onSuccess() {
      void navigate({ to: "/webhooks" });
      void invalidate(WebhookService.method.listWebhooks);
    },
  });
  return (
    <Confirm
      isOpen={isOpen}
      title="Delete this webhook?"
      confirmLabel="Delete webhook"
      cancelLabel="Keep webhook"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate({ id: webhook.id })}
      onClose={onClose}
    >
      <Text>
        Posthorn stops posting to <strong>{webhook.url}</strong>. Its waiting deliveries are deleted, and its delivery
        log can no longer be read. This cannot be undone.
      </Text>
    </Confirm>
  );
}
