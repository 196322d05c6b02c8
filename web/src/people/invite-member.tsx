/** Invites a person by email; the link is shown once, for those who cannot be reached by mail. */
import { useMutation } from "@connectrpc/connect-query";
import { Alert, Button, Group, Modal, Radio, Stack, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { MemberRole, WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { changed } from "../api/changed.ts";
import { explain } from "../api/problem.ts";
import { CopyField } from "../parts/copy-field.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
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
        <Form onMade={(url, message) => setMade({ url, message })} onCancel={close} />
      )}
    </Modal>
  );
}

function Form({ onMade, onCancel }: { onMade(url: string, message: string): void; onCancel(): void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<MemberRole>(MemberRole.DEVELOPER);
  const invitation = useMutation(WorkspaceService.method.inviteMember, {
    gcTime: 0,
    onSuccess({ inviteUrl, message }) {
      void changed(WorkspaceService.method.listMembers);
      onMade(inviteUrl, message);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    invitation.mutate({ email: email.trim(), role });
  };
  const fields = invitation.error ? explain(invitation.error).fields : {};
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Email address"
          type="email"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={fields.email}
          autoComplete="off"
          data-autofocus
          required
          withAsterisk={false}
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
        {invitation.error && Object.keys(fields).length === 0 && <ProblemAlert error={invitation.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={invitation.isPending}>
            Invite
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
