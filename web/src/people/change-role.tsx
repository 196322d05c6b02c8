/** Gives a member another role. */
import { useMutation } from "@connectrpc/connect-query";
import { NativeSelect } from "@mantine/core";
import { type Member, type MemberRole, WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { refreshAuthState } from "../api/auth.ts";
import { changed } from "../api/changed.ts";
import { explain } from "../api/problem.ts";
import { roles } from "./roles.ts";

export function ChangeRole({ member, isSelf }: { member: Member; isSelf: boolean }) {
  const change = useMutation(WorkspaceService.method.updateMember, {
    // Also after a refusal: the list then shows what really is.
    onSettled: () => Promise.all([changed(WorkspaceService.method.listMembers), isSelf && refreshAuthState()]),
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
