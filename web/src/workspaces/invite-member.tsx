/** The dialog that invites a person. It shows the link once, in case the email does not arrive. */
import { useMutation } from "@connectrpc/connect-query";
import { Alert, Button, Modal, Radio, Stack } from "@mantine/core";
import { useState } from "react";
import { MemberRole, WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { CopyField } from "../parts/copy-field.tsx";
import { Form, formErrors, TextField } from "../parts/form.tsx";
import { roles } from "./roles.ts";

export function InviteMember({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const [created, setCreated] = useState<{ url: string; message: string }>();
  const close = () => {
    setCreated(undefined);
    onClose();
  };
  return (
    <Modal opened={isOpen} onClose={close} title={created ? "Invitation created" : "Invite member"}>
      {created ? (
        <Stack>
          <Alert color="green" role="alert">
            {created.message}
          </Alert>
          <CopyField label="Link to join (valid for 7 days, shown only once)" value={created.url} />
          <Button onClick={close}>Done</Button>
        </Stack>
      ) : (
        <Fields onCreated={(url, message) => setCreated({ url, message })} onCancel={close} />
      )}
    </Modal>
  );
}

function Fields({ onCreated, onCancel }: { onCreated(url: string, message: string): void; onCancel(): void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<MemberRole>(MemberRole.DEVELOPER);
  const invitation = useMutation(WorkspaceService.method.inviteMember, {
    gcTime: 0,
    onSuccess({ inviteUrl, message }) {
      void invalidate(WorkspaceService.method.listMembers);
      onCreated(inviteUrl, message);
    },
  });
  const submit = () => {
    invitation.mutate({ email: email.trim(), role });
  };
  const { fields, error } = formErrors(invitation.error);
  return (
    <Form
      submitLabel="Create invitation"
      isPending={invitation.isPending}
      error={error}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <TextField
        label="Email address"
        type="email"
        value={email}
        onChange={setEmail}
        error={fields.email}
        autoComplete="off"
        data-autofocus
        isRequired
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
