/** `workspaces` holds workspaces, members and roles. This file is WorkspaceService. Only signed-in owners change members, never keys:
 * otherwise every developer could create a key and become an owner. Parts: store.ts (SQL), rules.ts (names and addresses).
 * Next: store.ts for membership, then people/people.ts for sign-up, sign-in and invitations. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { actorOf, audited } from "../audit/record.ts";
import { MemberRole, WorkspaceService } from "../gen/v1/workspace_pb.ts";
import type { Call } from "../http/call.ts";
import { serve } from "../http/call.ts";
import type { Caller, Role } from "../http/caller.ts";
import { cutPage, keysetPage, pageSizeOf } from "../http/paging.ts";
import { requireFresh, secondFactorRequired } from "../http/proof.ts";
import { type Key, keysMadeBy } from "../keys/store.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid, notFound, Problem, type Violation } from "../ops/problem.ts";
import { fromWireId, makeUuid, toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Quotas } from "../quotas/quotas.ts";
import { readUsage } from "../quotas/store/usage.ts";
import { invalidEmail, noSuchWorkspace, readEmail } from "./rules.ts";
import {
  changeRole,
  createOwnedWorkspace,
  getWorkspace,
  type Invitations,
  listMembers,
  listWorkspacesOf,
  type MemberRow,
  type MostOwned,
  membershipOf,
  personOfMember,
  type Removed,
  removeMember,
  updateWorkspace,
  type Workspace,
} from "./store.ts";
import { quotasOnWire } from "./wire.ts";

const maxNameLength = 100;

const roleOnWire = {
  owner: MemberRole.OWNER,
  developer: MemberRole.DEVELOPER,
  viewer: MemberRole.VIEWER,
} as const satisfies Record<Role, MemberRole>;

export type WorkspaceServiceDeps = {
  sql: Sql;
  clock: Clock;
  invitations: Invitations;
  quotas: Quotas;
  /** Whether everyone may sign up. */
  signUpIsOpen: boolean;
  mostOwned: MostOwned;
};

export function createWorkspaceService(deps: WorkspaceServiceDeps) {
  const { sql, clock } = deps;
  return serve(WorkspaceService, {
    async createWorkspace(request, call) {
      const name = nameFrom(request.name);
      const person = personOf(call);
      call.beginWrite();
      const owned = {
        workspace: { id: makeUuid(clock.nowMs()), name },
        member: { id: makeUuid(clock.nowMs()), personId: person.id, email: person.email },
        signUpIsOpen: deps.signUpIsOpen,
        most: deps.mostOwned,
      };
      const workspace = await audited(
        sql,
        actorOf(call.caller),
        (tx) => createOwnedWorkspace(tx, owned),
        ({ id }) => ({ action: "workspace.created", workspaceId: id, target: { kind: "workspace", id } }),
      );
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

    async getQuotas(request, call) {
      const workspaceId = await targetOf(request.workspaceId, call, { ownerOnly: false });
      const [usage] = await readUsage(sql, [workspaceId]);
      if (!usage) throw noSuchWorkspace(request.workspaceId);
      return quotasOnWire(usage, deps.quotas.defaults);
    },

    async updateWorkspace(request, call) {
      const workspaceId = await targetOf(request.workspaceId, call, { ownerOnly: true });
      const { requireSecondFactor } = request;
      const name = request.name === "" && requireSecondFactor !== undefined ? undefined : nameFrom(request.name);
      if (requireSecondFactor !== undefined) requireSecurityProof(call, requireSecondFactor);
      call.beginWrite();
      const fields = [
        ...(name === undefined ? [] : ["name"]),
        ...(requireSecondFactor === undefined ? [] : [factorField]),
      ];
      const workspace = await audited(
        sql,
        actorOf(call.caller),
        (tx) => updateWorkspace(tx, workspaceId, { name, requireSecondFactor }),
        (found) =>
          found && { action: "workspace.updated", workspaceId, target: { kind: "workspace", id: workspaceId }, fields },
      );
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
      const problems = readEmail(request.email) ? [] : [invalidEmail];
      if (!role) problems.push(roleRequired);
      if (!role || problems.length > 0) throw invalid(problems);
      call.beginWrite();
      const inviter = { id: personOf(call).id };
      const { member, url, message } = await deps.invitations.invite({
        workspaceId,
        email: request.email,
        role,
        inviter,
        actor: actorOf(call.caller),
      });
      return { member: memberOnWire(member), inviteUrl: url, message };
    },

    async updateMember(request, call) {
      const role = roleFrom(request.role);
      const problems = request.memberId === "" ? [memberIdRequired] : [];
      if (!role) problems.push(roleRequired);
      if (!role || problems.length > 0) throw invalid(problems);
      const workspaceId = await targetOf(request.workspaceId, call, { ownerOnly: true });
      const id = fromWireId("member", request.memberId);
      call.beginWrite();
      const changed =
        id &&
        (await audited(
          sql,
          actorOf(call.caller),
          (tx) => changeRole(tx, { workspaceId, id, role, most: deps.mostOwned }),
          (row) =>
            row && row !== "last owner"
              ? { action: "member.updated", workspaceId, target: { kind: "member", id }, fields: ["role"] }
              : undefined,
        ));
      if (!changed) throw notFound("member", request.memberId);
      if (changed === "last owner") throw lastOwner();
      return { member: memberOnWire(changed) };
    },

    async listMemberKeys(request, call) {
      const page = keysetPage(request);
      if (request.memberId === "") throw invalid([memberIdRequired]);
      const workspaceId = await targetOf(request.workspaceId, call, { ownerOnly: true });
      const id = fromWireId("member", request.memberId);
      const personId = id && (await personOfMember(sql, workspaceId, id));
      if (personId === undefined) throw notFound("member", request.memberId);
      if (personId === null) return { data: [], nextPageToken: "" };
      const made = { workspaceId, personId, before: page.before, limit: page.limit + 1 };
      const { rows, nextPageToken } = cutPage(await keysMadeBy(sql, made), page.limit);
      return { data: rows.map(memberKeyOnWire), nextPageToken };
    },

    async removeMember(request, call) {
      if (request.memberId === "") throw invalid([memberIdRequired]);
      const workspaceId = await targetOf(request.workspaceId, call, { ownerOnly: true });
      const id = fromWireId("member", request.memberId);
      call.beginWrite();
      const { revokeKeys } = request;
      const actor = actorOf(call.caller);
      const removed = id && (await removeMember(sql, { workspaceId, id, revokeKeys, actor }));
      if (!removed) throw notFound("member", request.memberId);
      if (removed === "last owner") throw lastOwner();
      const { revokedKeys, validKeys } = removed;
      return { message: removalMessage(removed), revokedKeys, validKeys };
    },
  });

  /** The workspace that the request names, or the one of the call. In another workspace the caller needs the same role. */
  async function targetOf(wireId: string, { caller }: Call, { ownerOnly }: { ownerOnly: boolean }): Promise<string> {
    if (wireId === "") return caller.workspaceId;
    const id = fromWireId("workspace", wireId);
    if (id === undefined) throw noSuchWorkspace(wireId);
    if (id === caller.workspaceId) return id;
    const membership = caller.person && (await membershipOf(sql, id, caller.person.id));
    if (!membership) throw noSuchWorkspace(wireId);
    const { role } = membership;
    // The gate has checked the workspace of the call, which is another one.
    if (membership.requireSecondFactor && !caller.person?.proof?.hasSecondFactor) throw secondFactorRequired();
    if (ownerOnly && role !== "owner")
      throw new Problem("permission_denied", `This call needs an owner of the workspace; you are a ${role}.`);
    return id;
  }
}

function removalMessage({ email, joined, revokedKeys, validKeys }: Removed): string {
  if (!joined) return `Invitation to ${email} withdrawn.`;
  if (revokedKeys > 0) return `Member ${email} removed. Revoked keys that they created: ${revokedKeys}.`;
  if (validKeys === 0) return `Member ${email} removed.`;
  return `Member ${email} removed. Keys that they created and that are still valid: ${validKeys}. Revoke them with RevokeKey.`;
}

const memberIdRequired: Violation = { field: "memberId", description: "is required: the id of a member, mem_…" };
const roleRequired: Violation = {
  field: "role",
  description: "must be MEMBER_ROLE_OWNER, MEMBER_ROLE_DEVELOPER or MEMBER_ROLE_VIEWER",
};

const factorField = "requireSecondFactor";

/** An owner who has no second factor would lock themselves out. */
function requireSecurityProof({ caller }: Call, requireSecondFactor: boolean): void {
  const proof = caller.person?.proof;
  if (requireSecondFactor && !proof?.hasSecondFactor)
    throw new Problem(
      "failed_precondition",
      "Your own session has no second factor. Add one on your account page, or sign in with it, then require it of all members.",
    );
  requireFresh(proof);
}

function lastOwner(): Problem {
  return new Problem(
    "failed_precondition",
    "This is the last owner of the workspace. Make another member an owner first.",
  );
}

/** For methods that keys may not call. The gate has checked this already. */
function personOf({ caller }: Call): NonNullable<Caller["person"]> {
  if (!caller.person)
    throw new Problem("permission_denied", "This call needs a person who is signed in to the dashboard.");
  return caller.person;
}

function nameFrom(text: string): string {
  const name = text.trim();
  const length = [...name].length;
  if (length < 1 || length > maxNameLength)
    throw invalid([{ field: "name", description: `must have 1 to ${maxNameLength} characters, has ${length}` }]);
  if (/[\p{Cc}\u2028\u2029]/u.test(name))
    throw invalid([{ field: "name", description: "must not contain control characters" }]);
  return name;
}

function memberPage(request: { pageSize: number; pageToken: string }): { limit: number; after: string } {
  const problems: Violation[] = [];
  const limit = pageSizeOf(request.pageSize, problems);
  const after = Buffer.from(request.pageToken, "base64url").toString("utf8");
  const valid = after === "" ? request.pageToken === "" : /^[\x21-\x7e]{1,320}@[\x21-\x7e]{1,320}$/.test(after);
  if (!valid)
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
    requireSecondFactor: workspace.requireSecondFactor,
  };
}

function memberKeyOnWire(key: Key) {
  return {
    id: toWireId("key", key.id),
    name: key.name,
    prefix: key.prefix,
    test: key.test,
    createdAt: timestampFromDate(key.createdAt),
    lastUsedAt: key.lastUsedAt ? timestampFromDate(key.lastUsedAt) : undefined,
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
