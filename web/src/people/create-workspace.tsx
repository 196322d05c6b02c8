/** Makes a workspace and goes there. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { setAuthState } from "../api/auth.ts";
import { explain } from "../api/problem.ts";
import { chooseWorkspace } from "../api/session.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";

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
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate({ name: name.trim() });
  };
  const fields = creation.error ? explain(creation.error).fields : {};
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm" c="dimmed">
          Domains, emails, keys and events belong to one workspace and are invisible to all others.
        </Text>
        <TextInput
          label="Name"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={fields.name}
          maxLength={100}
          autoComplete="off"
          data-autofocus
          required
          withAsterisk={false}
        />
        {creation.error && Object.keys(fields).length === 0 && <ProblemAlert error={creation.error} />}
        <Group justify="flex-end">
          {onCancel && (
            <Button variant="default" onClick={onCancel}>
              Cancel
            </Button>
          )}
          <Button type="submit" loading={creation.isPending}>
            Create workspace
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
