/** Invites a person by email; the link is shown once, for those who cannot be reached by mail. */
import { useMutation } from "@connectrpc/connect-query";
import { Alert, Button, Modal, Radio, Stack } from "@mantine/core";
import { useState } from "react";
import { MemberRole, WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { changed } from "../api/changed.ts";
import { CopyField } from "../parts/copy-field.tsx";
import { Form, refusals, TextField } from "../parts/form.tsx";
import { roles } from "./roles.ts";

export function InviteMember({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const [made, setMade] = useState<{ url: string; message: string }>();
  const close = () => {
    setMade(undefined);
    onClose();
  };
  return (
    <Modal opened={isOpen} onClose={close} title={made ? "The invitation is made" : "Invite a person"}>
      {made ? (
        <Stack>
          <Alert color="green" role="alert">
            {made.message}
          </Alert>
          <CopyField label="Link to join, valid for 7 days, shown only now" value={made.url} />
          <Button onClick={close}>Done</Button>
        </Stack>
      ) : (
        <Fields onMade={(url, message) => setMade({ url, message })} onCancel={close} />
      )}
    </Modal>
  );
}

function Fields({ onMade, onCancel }: { onMade(url: string, message: string): void; onCancel(): void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<MemberRole>(MemberRole.DEVELOPER);
  const invitation = useMutation(WorkspaceService.method.inviteMember, {
    gcTime: 0,
    onSuccess({ inviteUrl, message }) {
      void changed(WorkspaceService.method.listMembers);
      onMade(inviteUrl, message);
    },
  });
  const submit = () => {
    invitation.mutate({ email: email.trim(), role });
  };
  const { fields, error } = refusals(invitation.error);
  return (
    <Form act="Invite" isPending={invitation.isPending} error={error} onSubmit={submit} onCancel={onCancel}>
      <TextField
        label="Email address"
        type="email"
        value={email}
        onChange={setEmail}
        error={fields.email}
        autoComplete="off"
        data-autofocus
        isNeeded
      />
      <Radio.Group
        label="Role"
        value={String(role)}
        onChange={(value) => setRole(Number(value) as MemberRole)}
        error={fields.role}
      >
        <Stack gap="xs" mt="xs">
          {roles.map(({ value, name, meaning }) => (
            <Radio key={value} value={String(value)} label={name} description={meaning} />
          ))}
        </Stack>
      </Radio.Group>
    </Form>
  );
}
