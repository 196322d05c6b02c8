/** The dialogs with which an operator suspends, resumes and deletes a workspace. */
import { useMutation } from "@connectrpc/connect-query";
import { Text } from "@mantine/core";
import { useState } from "react";
import { OperatorService, type WorkspaceEntry } from "../../../src/gen/v1/operator_pb.ts";
import { WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { refreshAuthState } from "../api/auth.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";
import { TextField } from "../parts/form.tsx";
import { TypedConfirm } from "./typed-confirm.tsx";

type Dialog = { workspace: WorkspaceEntry | undefined; onClose(): void };

/** The operator may be a member of the workspace, whose banner and quotas change, too. */
const changed = () => invalidate(OperatorService.method.listAllWorkspaces, WorkspaceService.method.getQuotas);

export function SuspendWorkspace({ workspace, onClose }: Dialog) {
  const [reason, setReason] = useState("");
  const change = useMutation(OperatorService.method.suspendWorkspace, {
    async onSuccess() {
      close();
      await changed();
    },
  });
  const close = () => {
    change.reset();
    setReason("");
    onClose();
  };
  return (
    <Confirm
      isOpen={workspace !== undefined}
      title="Suspend this workspace?"
      confirmLabel="Suspend workspace"
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => workspace && change.mutate({ workspaceId: workspace.id, reason })}
      onClose={close}
    >
      <Text>
        <strong>{workspace?.name}</strong> can no longer send. Its mail stays queued, and everything else works. Its
        owners get an email.
      </Text>
      <TextField
        label="Reason"
        description="Optional. Shown to owners and in API errors."
        value={reason}
        onChange={setReason}
        maxLength={500}
      />
    </Confirm>
  );
}

export function ResumeWorkspace({ workspace, onClose }: Dialog) {
  const change = useMutation(OperatorService.method.resumeWorkspace, {
    async onSuccess() {
      close();
      await changed();
    },
  });
  const close = () => {
    change.reset();
    onClose();
  };
  return (
    <Confirm
      isOpen={workspace !== undefined}
      title="Resume this workspace?"
      confirmLabel="Resume workspace"
      isHarmless
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => workspace && change.mutate({ workspaceId: workspace.id })}
      onClose={close}
    >
      <Text>
        <strong>{workspace?.name}</strong> can send again. Its queued mail is sent, and the count of its bounces and
        complaints is reset.
      </Text>
    </Confirm>
  );
}

export function DeleteWorkspace({ workspace, onClose }: Dialog) {
  const change = useMutation(OperatorService.method.deleteWorkspace, {
    async onSuccess() {
      close();
      await Promise.all([changed(), refreshAuthState()]);
    },
  });
  const close = () => {
    change.reset();
    onClose();
  };
  const name = workspace?.name ?? "";
  return (
    <TypedConfirm
      isOpen={workspace !== undefined}
      title="Delete this workspace?"
      label="Name of the workspace"
      expected={name}
      confirmLabel="Delete workspace"
      cancelLabel="Keep workspace"
      exportCommand={`posthorn workspaces export ${workspace?.id ?? ""} ./export`}
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => workspace && change.mutate({ workspaceId: workspace.id, name })}
      onClose={close}
    >
      <Text>
        <strong>{name}</strong> stops working at once: its keys are rejected, its members lose access, and it neither
        sends nor receives mail. All its data is deleted. This cannot be undone.
      </Text>
      <Text size="sm" c="dimmed">
        Its public DKIM keys stay in DNS for 7 days, so that mail in transit can be verified.
      </Text>
    </TypedConfirm>
  );
}
