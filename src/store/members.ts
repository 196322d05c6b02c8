/** Members of workspaces and open invitations. A workspace that has had an owner always has one. */
import type { Sql } from "./db.ts";
import { hashToken } from "./people-links.ts";
import { createWorkspace, type Workspace } from "./workspaces.ts";

export const roles = ["owner", "developer", "viewer"] as const;
export type Role = (typeof roles)[number];

export type MemberRow = {
  id: string;
  email: string;
  /** Null while invited. */
  name: string | null;
  role: Role;
  invitedAt: Date | null;
  joinedAt: Date | null;
};

export type MemberOf = Workspace & { role: Role };

/** Newest first (index members_by_person). */
export async function listWorkspacesOf(
  sql: Sql,
  page: { personId: string; before: string | undefined; limit: number },
): Promise<MemberOf[]> {
  return await sql<MemberOf[]>`
    select w.id, w.name, m.role, w.created_at as "createdAt", w.updated_at as "updatedAt"
    from members m join workspaces w on w.id = m.workspace_id where m.person_id = ${page.personId}
    ${page.before ? sql`and m.workspace_id < ${page.before}` : sql``} order by m.workspace_id desc limit ${page.limit}`;
}

/** Index members_by_person. */
export async function roleOf(sql: Sql, workspaceId: string, personId: string): Promise<Role | undefined> {
  const [row] = await sql<{ role: Role }[]>`
    select role from members where person_id = ${personId} and workspace_id = ${workspaceId}`;
  return row?.role;
}

export async function addFirstOwner(
  sql: Sql,
  member: { workspaceId: string; id: string; personId: string; email: string },
): Promise<void> {
  // An invitation to the same address may have been there before.
  await sql`insert into members (workspace_id, id, person_id, email, role, joined_at)
    values (${member.workspaceId}, ${member.id}, ${member.personId}, ${member.email}, 'owner', now())
    on conflict (workspace_id, email) do update set person_id = excluded.person_id, role = 'owner', joined_at = now(),
      invite_hash = null, invite_expires_at = null`;
}

/** A workspace and the person who made it, as its owner. */
export async function createOwnedWorkspace(
  sql: Sql,
  wanted: { workspace: { id: string; name: string }; member: { id: string; personId: string; email: string } },
): Promise<Workspace> {
  return await sql.begin(async (tx) => {
    const workspace = await createWorkspace(tx, wanted.workspace);
    await addFirstOwner(tx, { ...wanted.member, workspaceId: workspace.id });
    return workspace;
  });
}

/** By address, after one that was shown already; sorted by bytes, so that a page's end is the same for every database. */
export async function listMembers(
  sql: Sql,
  page: { workspaceId: string; after: string; limit: number },
): Promise<MemberRow[]> {
  return await sql<MemberRow[]>`
    select m.id, m.email, p.name, m.role, m.invited_at as "invitedAt", m.joined_at as "joinedAt"
    from members m left join people p on p.id = m.person_id
    where m.workspace_id = ${page.workspaceId} and m.email collate "C" > ${page.after} order by m.email collate "C" limit ${page.limit}`;
}

/** Makes an invitation or renews the one that is there. Undefined when the person is a member already. */
export async function invite(
  sql: Sql,
  invitation: { workspaceId: string; id: string; email: string; role: Role; token: string; forMs: number },
): Promise<MemberRow | undefined> {
  const until = sql`now() + ${`${invitation.forMs} milliseconds`}::interval`;
  const [row] = await sql<MemberRow[]>`
    insert into members as m (workspace_id, id, email, role, invite_hash, invite_expires_at, invited_at)
    values (${invitation.workspaceId}, ${invitation.id}, ${invitation.email}, ${invitation.role}, ${hashToken(invitation.token)}, ${until}, now())
    on conflict (workspace_id, email) do update set role = excluded.role, invite_hash = excluded.invite_hash,
      invite_expires_at = excluded.invite_expires_at, invited_at = excluded.invited_at where m.person_id is null
    returning m.id, m.email, null as name, m.role, m.invited_at as "invitedAt", m.joined_at as "joinedAt"`;
  return row;
}

export type Invitation = { workspaceId: string; workspaceName: string; email: string; role: Role };

/** Index members_invite_hash_key. */
export async function findInvite(sql: Sql, token: string): Promise<Invitation | undefined> {
  const [row] = await sql<Invitation[]>`
    select m.workspace_id as "workspaceId", w.name as "workspaceName", m.email, m.role
    from members m join workspaces w on w.id = m.workspace_id
    where m.invite_hash = ${hashToken(token)} and m.invite_expires_at > now()`;
  return row;
}

/** Only for the person whom the invitation names, and once. */
export async function joinByInvite(
  sql: Sql,
  join: { token: string; person: { id: string; email: string } },
): Promise<{ workspaceId: string; role: Role } | undefined> {
  const [row] = await sql<{ workspaceId: string; role: Role }[]>`
    update members set person_id = ${join.person.id}, joined_at = now(), invite_hash = null, invite_expires_at = null
    where invite_hash = ${hashToken(join.token)} and invite_expires_at > now() and email = ${join.person.email}
    returning workspace_id as "workspaceId", role`;
  return row;
}

export type Change<T> = T | "last owner" | undefined;

export async function removeMember(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<Change<{ email: string; joined: boolean }>> {
  return await sql.begin(async (tx) => {
    const member = await lockMember(tx, workspaceId, id);
    if (!member) return undefined;
    if (member.lastOwner) return "last owner";
    await tx`delete from members where workspace_id = ${workspaceId} and id = ${id}`;
    return { email: member.email, joined: member.joined };
  });
}

export async function changeRole(
  sql: Sql,
  wanted: { workspaceId: string; id: string; role: Role },
): Promise<Change<MemberRow>> {
  const { workspaceId, id, role } = wanted;
  return await sql.begin(async (tx) => {
    const member = await lockMember(tx, workspaceId, id);
    if (!member) return undefined;
    if (member.lastOwner && role !== "owner") return "last owner";
    const [row] = await tx<MemberRow[]>`
      update members m set role = ${role} where m.workspace_id = ${workspaceId} and m.id = ${id}
      returning m.id, m.email, (select p.name from people p where p.id = m.person_id) as name, m.role,
        m.invited_at as "invitedAt", m.joined_at as "joinedAt"`;
    return row;
  });
}

/** The workspace's row is locked first, so that two owners cannot remove each other at the same moment. An invitation is no owner yet. */
async function lockMember(sql: Sql, workspaceId: string, id: string) {
  await sql`select 1 from workspaces where id = ${workspaceId} for no key update`;
  const [member] = await sql<{ email: string; joined: boolean; lastOwner: boolean }[]>`
    select m.email, m.person_id is not null as joined, m.role = 'owner' and m.person_id is not null and not exists (
      select 1 from members o where o.workspace_id = m.workspace_id and o.id <> m.id and o.role = 'owner' and o.person_id is not null
    ) as "lastOwner"
    from members m where m.workspace_id = ${workspaceId} and m.id = ${id}`;
  return member;
}
