/** What can be done with a webhook: test it, change it, rotate its secret, switch it off and on, delete it. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Menu, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Webhook, WebhookService, WebhookStatus } from "../../../src/gen/v1/webhook_pb.ts";
import { changed } from "../api/changed.ts";
import { Confirm } from "../parts/confirm.tsx";
import { EditWebhook } from "./edit-webhook.tsx";
import { RotateSecret } from "./rotate-secret.tsx";
import { SendTest } from "./send-test.tsx";

type Dialogue = "test" | "edit" | "rotate" | "switch" | "delete";

export function WebhookActions({ webhook }: { webhook: Webhook }) {
  const [open, setOpen] = useState<Dialogue>();
  const close = () => setOpen(undefined);
  const isEnabled = webhook.status === WebhookStatus.ENABLED;
  return (
    <>
      <Button onClick={() => setOpen("test")}>Send test</Button>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button variant="default">More</Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setOpen("edit")}>Change…</Menu.Item>
          <Menu.Item onClick={() => setOpen("rotate")}>Rotate secret…</Menu.Item>
          <Menu.Item onClick={() => setOpen("switch")}>{isEnabled ? "Disable…" : "Enable…"}</Menu.Item>
          <Menu.Item onClick={() => setOpen("delete")}>Delete…</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <SendTest id={webhook.id} isOpen={open === "test"} onClose={close} />
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
      void changed(WebhookService.method.getWebhook, WebhookService.method.listWebhooks);
    },
  });
  return (
    <Confirm
      isOpen={isOpen}
      title={isEnabled ? "Disable this webhook?" : "Enable this webhook?"}
      act={isEnabled ? "Disable" : "Enable"}
      isHarmless={!isEnabled}
      isPending={update.isPending}
      error={update.error}
      onConfirm={() => update.mutate({ id: webhook.id, enabled: !isEnabled })}
      onClose={onClose}
    >
      <Text>
        {isEnabled
          ? "Nothing is posted any more, and deliveries that wait are given up. They can be delivered again after it is enabled."
          : "Events that happen from now on are posted again."}
      </Text>
    </Confirm>
  );
}

function DeleteWebhook({ webhook, isOpen, onClose }: { webhook: Webhook; isOpen: boolean; onClose(): void }) {
  const navigate = useNavigate();
  const removal = useMutation(WebhookService.method.deleteWebhook, {
    onSuccess() {
      void navigate({ to: "/webhooks" });
      void changed(WebhookService.method.listWebhooks);
    },
  });
  return (
    <Confirm
      isOpen={isOpen}
      title="Delete this webhook?"
      act="Delete webhook"
      keep="Keep it"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate({ id: webhook.id })}
      onClose={onClose}
    >
      <Text>
        Nothing more is posted to <strong>{webhook.url}</strong>, and deliveries that wait are dropped. The log of its
        deliveries goes too. This cannot be undone.
      </Text>
    </Confirm>
  );
}
