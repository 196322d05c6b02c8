/** The members of the workspace and open invitations. */
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { Button, Group, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { type Member, WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { refreshAuthState } from "../api/auth.ts";
import { changed } from "../api/changed.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Mark } from "../parts/mark.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Section } from "../parts/section.tsx";
import { Time } from "../parts/time.tsx";
import { ChangeRole } from "./change-role.tsx";
import { InviteMember } from "./invite-member.tsx";
import { roleWord } from "./roles.ts";

export function Members({ isOwner, ownEmail }: { isOwner: boolean; ownEmail: string }) {
  const [isInviting, inviting] = useDisclosure(false);
  const [leaving, setLeaving] = useState<Member>();
  const query = useInfiniteQuery(
    WorkspaceService.method.listMembers,
    { pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  return (
    <Section title="Members" actions={isOwner && <Button onClick={inviting.open}>Invite a person</Button>}>
      <PagedList
        query={query}
        what="the members"
        label="Members by address"
        keyOf={(member) => member.id}
        row={(member) => (
          <Row
            member={member}
            isSelf={member.email === ownEmail}
            onRemove={isOwner ? () => setLeaving(member) : undefined}
          />
        )}
        framed
        empty={<Text>Nobody is in this workspace.</Text>}
      />
      <InviteMember isOpen={isInviting} onClose={inviting.close} />
      <RemoveMember member={leaving} isSelf={leaving?.email === ownEmail} onClose={() => setLeaving(undefined)} />
    </Section>
  );
}

function Row({ member, isSelf, onRemove }: { member: Member; isSelf: boolean; onRemove?: () => void }) {
  const isInvited = member.joinedAt === undefined;
  return (
    <div className="row">
      <Mark of={roleWord(member.role)} />
      <div className="middle">
        <Text fw={600} className="wrap">
          {member.name || member.email}
          {isSelf && " (you)"}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {member.name && `${member.email} · `}
          {isInvited ? "invited " : "joined "}
          {isInvited ? member.invitedAt && <Time at={member.invitedAt} /> : <Time at={member.joinedAt!} />}
        </Text>
      </div>
      <Group className="aside" justify="flex-end" gap="xs">
        {onRemove && <ChangeRole member={member} isSelf={isSelf} />}
        {onRemove && (
          <Button
            variant="default"
            size="xs"
            onClick={onRemove}
            aria-label={`${isInvited ? "Take back" : "Remove"} ${member.email}`}
          >
            {isInvited ? "Take back" : "Remove"}
          </Button>
        )}
      </Group>
    </div>
  );
}

function RemoveMember(props: { member: Member | undefined; isSelf: boolean; onClose(): void }) {
  const { member, isSelf, onClose } = props;
  const removal = useMutation(WorkspaceService.method.removeMember, {
    async onSuccess() {
      close();
      await (isSelf ? refreshAuthState() : changed(WorkspaceService.method.listMembers));
    },
  });
  const close = () => {
    removal.reset();
    onClose();
  };
  const isInvited = member !== undefined && member.joinedAt === undefined;
  return (
    <Confirm
      isOpen={member !== undefined}
      title={isInvited ? "Take the invitation back?" : "Remove this member?"}
      act={isInvited ? "Take back" : "Remove"}
      keep="Keep"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => member && removal.mutate({ memberId: member.id })}
      onClose={close}
    >
      <Text>
        <strong>{member?.email}</strong>{" "}
        {isInvited ? "can no longer join by the link." : "can no longer see or change anything in this workspace."}
      </Text>
      {!isInvited && <Text>Keys that they made stay valid: revoke those on the page API keys.</Text>}
      {isSelf && <Text fw={600}>That is you: you will lose this workspace.</Text>}
    </Confirm>
  );
}
