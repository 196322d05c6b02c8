/** The form that creates a workspace and switches to it, as a dialog and as a page. */
import { useMutation } from "@connectrpc/connect-query";
import { Modal, Text } from "@mantine/core";
import { useState } from "react";
import { WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { setAuthState } from "../api/auth.ts";
import { chooseWorkspace } from "../api/session.ts";
import { Form, formErrors, TextField } from "../parts/form.tsx";

export function CreateWorkspace({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Create workspace">
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
  const { fields, error } = formErrors(creation.error);
  return (
    <Form
      submitLabel="Create workspace"
      isPending={creation.isPending}
      error={error}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <Text size="sm" c="dimmed">
        Domains, emails, keys and events belong to one workspace. Other workspaces cannot see them.
      </Text>
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        error={fields.name}
        maxLength={100}
        autoComplete="off"
        data-autofocus
        isRequired
      />
    </Form>
  );
}
