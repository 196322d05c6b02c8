/** Makes a workspace and goes there. */
import { useMutation } from "@connectrpc/connect-query";
import { Modal, Text } from "@mantine/core";
import { useState } from "react";
import { WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { setAuthState } from "../api/auth.ts";
import { chooseWorkspace } from "../api/session.ts";
import { Form, refusals, TextField } from "../parts/form.tsx";

export function CreateWorkspace({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Create a workspace">
      <CreateWorkspaceForm onDone={onClose} onCancel={onClose} />
    </Modal>
  );
}

export function CreateWorkspaceForm({ onDone, onCancel }: { onDone?: () => void; onCancel?: () => void }) {
  const [name, setName] = useState("");
  const creation = useMutation(WorkspaceService.method.createWorkspace, {
    onSuccess({ workspace }) {
      if (!workspace) return;
      const { id, name } = workspace;
      setAuthState((before) => ({ ...before, workspaces: [...before.workspaces, { id, name, role: "owner" }] }));
      chooseWorkspace(id);
      onDone?.();
    },
  });
  const submit = () => {
    creation.mutate({ name: name.trim() });
  };
  const { fields, error } = refusals(creation.error);
  return (
    <Form act="Create workspace" isPending={creation.isPending} error={error} onSubmit={submit} onCancel={onCancel}>
      <Text size="sm" c="dimmed">
        Domains, emails, keys and events belong to one workspace and are invisible to all others.
      </Text>
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        error={fields.name}
        maxLength={100}
        autoComplete="off"
        data-autofocus
        isNeeded
      />
    </Form>
  );
}
