/** The members of the workspace and its open invitations, with their roles. */
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { Button, Group, NativeSelect, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { type Member, type MemberRole, WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { refreshAuthState } from "../api/auth.ts";
import { explain } from "../api/problem.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Fresh } from "../parts/fresh.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { Section } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Time } from "../parts/time.tsx";
import { InviteMember } from "./invite-member.tsx";
import { MemberKeys } from "./member-keys.tsx";
import { roleLabel, roles } from "./roles.ts";

export function Members({ isOwner, ownEmail }: { isOwner: boolean; ownEmail: string }) {
  const [isInviting, inviting] = useDisclosure(false);
  const [removing, setRemoving] = useState<Member>();
  const query = useInfiniteQuery(
    WorkspaceService.method.listMembers,
    { pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  return (
    <Section
      title="Members"
      badge={<Fresh query={query} />}
      actions={isOwner && <Button onClick={inviting.open}>Invite member</Button>}
    >
      <PagedList
        query={query}
        what="the members"
        label="Members by address"
        keyOf={(member) => member.id}
        row={(member) => (
          <Row
            member={member}
            isSelf={member.email === ownEmail}
            onRemove={isOwner ? () => setRemoving(member) : undefined}
          />
        )}
        framed
        onRequest
        empty={<Text c="dimmed">No members yet. Invite the first one.</Text>}
      />
      <InviteMember isOpen={isInviting} onClose={inviting.close} />
      <RemoveMember member={removing} isSelf={removing?.email === ownEmail} onClose={() => setRemoving(undefined)} />
    </Section>
  );
}

function Row({ member, isSelf, onRemove }: { member: Member; isSelf: boolean; onRemove?: () => void }) {
  const isInvited = member.joinedAt === undefined;
  return (
    <div className="row member-row">
      <div className="middle">
        <Text fw={560} className="wrap">
          {member.name || member.email}
          {isSelf && " (you)"}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {member.name && `${member.email} · `}
          {isInvited ? (member.name ? "invited " : "Invited ") : "joined "}
          {isInvited ? member.invitedAt && <Time at={member.invitedAt} /> : <Time at={member.joinedAt!} />}
        </Text>
      </div>
      <Group className="aside" justify="flex-end" gap="xs">
        {onRemove ? <ChangeRole member={member} isSelf={isSelf} /> : <StatusBadge of={roleLabel(member.role)} />}
        {onRemove && (
          <Button
            variant="default"
            size="compact-sm"
            onClick={onRemove}
            aria-label={isInvited ? `Revoke invitation of ${member.email}` : `Remove ${member.email}`}
          >
            {isInvited ? "Revoke invitation" : "Remove"}
          </Button>
        )}
      </Group>
    </div>
  );
}

function RemoveMember(props: { member: Member | undefined; isSelf: boolean; onClose(): void }) {
  const { member, isSelf, onClose } = props;
  const [revokeKeys, setRevokeKeys] = useState(false);
  const removal = useMutation(WorkspaceService.method.removeMember, {
    async onSuccess() {
      close();
      await (isSelf ? refreshAuthState() : invalidate(WorkspaceService.method.listMembers, KeyService.method.listKeys));
    },
  });
  const close = () => {
    removal.reset();
    setRevokeKeys(false);
    onClose();
  };
  const isInvited = member !== undefined && member.joinedAt === undefined;
  return (
    <Confirm
      isOpen={member !== undefined}
      title={isInvited ? "Revoke this invitation?" : "Remove this member?"}
      confirmLabel={isInvited ? "Revoke invitation" : "Remove member"}
      cancelLabel={isInvited ? "Keep invitation" : "Keep member"}
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => member && removal.mutate({ memberId: member.id, revokeKeys })}
      onClose={close}
    >
      <Text>
        <strong>{member?.email}</strong>{" "}
        {isInvited ? "can no longer join with the link." : "loses access to this workspace."}
      </Text>
      {member && !isInvited && (
        <MemberKeys key={member.id} member={member} isChecked={revokeKeys} onChange={setRevokeKeys} />
      )}
      {isSelf && <Text fw={600}>This is you: you will lose access to this workspace.</Text>}
    </Confirm>
  );
}

/** A select that changes the role of a member. */
function ChangeRole({ member, isSelf }: { member: Member; isSelf: boolean }) {
  const change = useMutation(WorkspaceService.method.updateMember, {
    // Also after an error, so that the list shows the actual role.
    onSettled: () => Promise.all([invalidate(WorkspaceService.method.listMembers), isSelf && refreshAuthState()]),
  });
  return (
    <NativeSelect
      size="xs"
      aria-label={`Role of ${member.email}`}
      data={roles.map(({ value, name }) => ({ value: String(value), label: name }))}
      value={String(change.isPending ? change.variables.role : member.role)}
      disabled={change.isPending}
      error={change.error && explain(change.error).message}
      onChange={(event) =>
        change.mutate({ memberId: member.id, role: Number(event.currentTarget.value) as MemberRole })
      }
    />
  );
}
