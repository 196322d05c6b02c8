/** WorkspaceService: workspaces and the people in them. What changes members is for owners who are signed in, never for keys: a key that
 * could would make everybody who may make keys an owner. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { MemberRole, WorkspaceService } from "../gen/v1/workspace_pb.ts";
import { noAddress, readEmail } from "../people/input.ts";
import type { Invitations } from "../people/invitations.ts";
import { invalid, notFound, Problem, type Violation } from "../rules/problem.ts";
import type { Clock } from "../store/clock.ts";
import type { Sql } from "../store/db.ts";
import { fromWireId, makeUuid, toWireId } from "../store/ids.ts";
import {
  changeRole,
  createOwnedWorkspace,
  listMembers,
  listWorkspacesOf,
  type MemberRow,
  type Role,
  removeMember,
  roleOf,
} from "../store/members.ts";
import { getWorkspace, renameWorkspace, type Workspace } from "../store/workspaces.ts";
import type { Call, Caller } from "./call.ts";
import { cutPage, keysetPage, pageSizeOf } from "./paging.ts";
import { serve } from "./service.ts";
import { noSuchWorkspace } from "./session-caller.ts";

const maxNameLength = 100;

const roleOnWire = {
  owner: MemberRole.OWNER,
  developer: MemberRole.DEVELOPER,
  viewer: MemberRole.VIEWER,
} as const satisfies Record<Role, MemberRole>;

export function createWorkspaceService(deps: { sql: Sql; clock: Clock; invitations: Invitations }) {
  const { sql, clock } = deps;
  return serve(WorkspaceService, {
    async createWorkspace(request, call) {
      const name = nameFrom(request.name);
      const person = personOf(call);
      call.beginWrite();
      const workspace = await createOwnedWorkspace(sql, {
        workspace: { id: makeUuid(clock.nowMs()), name },
        member: { id: makeUuid(clock.nowMs()), personId: person.id, email: person.email },
      });
      return { workspace: workspaceOnWire(workspace, "owner") };
    },

    async listWorkspaces(request, call) {
      const page = keysetPage(request);
      const { person, workspaceId } = call.caller;
      if (!person) {
        const own = page.before === undefined ? await getWorkspace(sql, workspaceId) : undefined;
        return { data: own ? [workspaceOnWire(own, undefined)] : [], nextPageToken: "" };
      }
      const rows = await listWorkspacesOf(sql, { personId: person.id, before: page.before, limit: page.limit + 1 });
      const cut = cutPage(rows, page.limit);
      return { data: cut.rows.map((row) => workspaceOnWire(row, row.role)), nextPageToken: cut.nextPageToken };
    },

    async updateWorkspace(request, call) {
      const workspaceId = await targetOf(request.workspaceId, call, { ownerOnly: true });
      const name = nameFrom(request.name);
      call.beginWrite();
      const workspace = await renameWorkspace(sql, workspaceId, name);
      if (!workspace) throw noSuchWorkspace(request.workspaceId);
      return { workspace: workspaceOnWire(workspace, "owner") };
    },

    async listMembers(request, call) {
      const page = memberPage(request);
      const workspaceId = await targetOf(request.workspaceId, call, { ownerOnly: false });
      const rows = await listMembers(sql, { workspaceId, after: page.after, limit: page.limit + 1 });
      const shown = rows.slice(0, page.limit);
      const last = shown.at(-1);
      const nextPageToken = rows.length > shown.length && last ? Buffer.from(last.email).toString("base64url") : "";
      return { data: shown.map(memberOnWire), nextPageToken };
    },

    async inviteMember(request, call) {
      const workspaceId = await targetOf(request.workspaceId, call, { ownerOnly: true });
      const role = roleFrom(request.role);
      const problems = readEmail(request.email) ? [] : [noAddress];
      if (!role) problems.push(noRole);
      if (!role || problems.length > 0) throw invalid(problems);
      call.beginWrite();
      const { member, url, sent } = await deps.invitations.invite({ workspaceId, email: request.email, role });
      const message = sent
        ? `The invitation was sent to ${member.email}. It is valid for 7 days.`
        : `No mail can be sent from here yet: hand the link over to ${member.email} yourself. It is valid for 7 days.`;
      return { member: memberOnWire(member), inviteUrl: url, message };
    },

    async updateMember(request, call) {
      const role = roleFrom(request.role);
      const problems = request.memberId === "" ? [noMember] : [];
      if (!role) problems.push(noRole);
      if (!role || problems.length > 0) throw invalid(problems);
      const workspaceId = await targetOf(request.workspaceId, call, { ownerOnly: true });
      const id = fromWireId("member", request.memberId);
      call.beginWrite();
      const changed = id && (await changeRole(sql, { workspaceId, id, role }));
      if (!changed) throw notFound("member", request.memberId);
      if (changed === "last owner") throw lastOwner();
      return { member: memberOnWire(changed) };
    },

    async removeMember(request, call) {
      if (request.memberId === "") throw invalid([noMember]);
      const workspaceId = await targetOf(request.workspaceId, call, { ownerOnly: true });
      const id = fromWireId("member", request.memberId);
      call.beginWrite();
      const removed = id && (await removeMember(sql, workspaceId, id));
      if (!removed) throw notFound("member", request.memberId);
      if (removed === "last owner") throw lastOwner();
      return {
        message: removed.joined ? `${removed.email} is removed.` : `The invitation of ${removed.email} is gone.`,
      };
    },
  });

  /** The workspace that a request names, or the call's own. Another one must be the caller's too, with the same right in it. */
  async function targetOf(wireId: string, { caller }: Call, { ownerOnly }: { ownerOnly: boolean }): Promise<string> {
    if (wireId === "") return caller.workspaceId;
    const id = fromWireId("workspace", wireId);
    if (id === undefined) throw noSuchWorkspace(wireId);
    if (id === caller.workspaceId) return id;
    const role = caller.person && (await roleOf(sql, id, caller.person.id));
    if (!role) throw noSuchWorkspace(wireId);
    if (ownerOnly && role !== "owner")
      throw new Problem("permission_denied", `This is for an owner of the workspace; you are a ${role}.`);
    return id;
  }
}

const noMember: Violation = { field: "memberId", description: "is required: the id of a member, mem_…" };
const noRole: Violation = {
  field: "role",
  description: "must be MEMBER_ROLE_OWNER, MEMBER_ROLE_DEVELOPER or MEMBER_ROLE_VIEWER",
};

function lastOwner(): Problem {
  return new Problem(
    "failed_precondition",
    "This is the last owner of the workspace. Make somebody else an owner first.",
  );
}

/** Only a method that no key may call comes here: the gate has let a person in. */
function personOf({ caller }: Call): NonNullable<Caller["person"]> {
  if (!caller.person) throw new Problem("permission_denied", "This is for people signed in to the dashboard.");
  return caller.person;
}

function nameFrom(text: string): string {
  const name = text.trim();
  const length = [...name].length;
  if (length < 1 || length > maxNameLength)
    throw invalid([{ field: "name", description: `must have 1 to ${maxNameLength} characters, has ${length}` }]);
  if (/[\p{Cc}\u2028\u2029]/u.test(name))
    throw invalid([{ field: "name", description: "must not hold control characters" }]);
  return name;
}

function memberPage(request: { pageSize: number; pageToken: string }): { limit: number; after: string } {
  const problems: Violation[] = [];
  const limit = pageSizeOf(request.pageSize, problems);
  const after = Buffer.from(request.pageToken, "base64url").toString("utf8");
  const ours = after === "" ? request.pageToken === "" : /^[\x21-\x7e]{1,320}@[\x21-\x7e]{1,320}$/.test(after);
  if (!ours)
    problems.push({
      field: "pageToken",
      description: "is not a token that this method returned; leave it out for the first page",
    });
  if (problems.length > 0) throw invalid(problems);
  return { limit, after };
}

function roleFrom(role: MemberRole): Role | undefined {
  return (Object.keys(roleOnWire) as Role[]).find((name) => roleOnWire[name] === role);
}

function workspaceOnWire(workspace: Workspace, role: Role | undefined) {
  return {
    id: toWireId("workspace", workspace.id),
    name: workspace.name,
    role: role ? roleOnWire[role] : MemberRole.UNSPECIFIED,
    createdAt: timestampFromDate(workspace.createdAt),
    updatedAt: timestampFromDate(workspace.updatedAt),
  };
}

function memberOnWire(member: MemberRow) {
  return {
    id: toWireId("member", member.id),
    email: member.email,
    name: member.name ?? "",
    role: roleOnWire[member.role],
    invitedAt: member.invitedAt ? timestampFromDate(member.invitedAt) : undefined,
    joinedAt: member.joinedAt ? timestampFromDate(member.joinedAt) : undefined,
  };
}
