/** The SQL of workspaces, members and open invitations. A workspace that has an owner always keeps one. Called by WorkspaceService, by
 * people, by the first start and by the commands. */
import { type Actor, type AuditChange, record } from "../audit/record.ts";
import type { Role } from "../http/caller.ts";
import { countKeysMadeBy, revokeKeysMadeBy } from "../keys/store.ts";
import { hashToken } from "../ops/one-time-token.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { tooManyOwned } from "./rules.ts";

export type Workspace = { id: string; name: string; createdAt: Date; updatedAt: Date; requireSecondFactor: boolean };

export type MemberRow = {
  id: string;
  email: string;
  /** Null while invited. */
  name: string | null;
  role: Role;
  invitedAt: Date | null;
  joinedAt: Date | null;
};

/** A workspace and the role of one person in it. */
export type Membership = Workspace & { role: Role };

/** Newest first (index members_by_person). */
export async function listWorkspacesOf(
  sql: Sql,
  page: { personId: string; before: string | undefined; limit: number },
): Promise<Membership[]> {
  return await sql<Membership[]>`
    select w.id, w.name, m.role, w.created_at as "createdAt", w.updated_at as "updatedAt",
      w.require_second_factor as "requireSecondFactor"
    from members m join workspaces w on w.id = m.workspace_id where m.person_id = ${page.personId}
    ${page.before ? sql`and m.workspace_id < ${page.before}` : sql``} order by m.workspace_id desc limit ${page.limit}`;
}

/** Index members_by_person. */
export async function membershipOf(
  sql: Sql,
  workspaceId: string,
  personId: string,
): Promise<{ role: Role; requireSecondFactor: boolean } | undefined> {
  const [row] = await sql<{ role: Role; requireSecondFactor: boolean }[]>`
    select m.role, w.require_second_factor as "requireSecondFactor" from members m join workspaces w on w.id = m.workspace_id
    where m.person_id = ${personId} and m.workspace_id = ${workspaceId}`;
  return row;
}

export async function addFirstOwner(
  sql: Sql,
  member: { workspaceId: string; id: string; personId: string; email: string },
): Promise<void> {
  // There may be an open invitation for the same address.
  await sql.write`insert into members (workspace_id, id, person_id, email, role, joined_at)
    values (${member.workspaceId}, ${member.id}, ${member.personId}, ${member.email}, 'owner', now())
    on conflict (workspace_id, email) do update set person_id = excluded.person_id, role = 'owner', joined_at = now(),
      invite_hash = null, invite_expires_at = null`;
}

/** The most workspaces that a person may own: in general, and if they came through open sign-up. Null: unlimited. */
export type MostOwned = { established: number | null; fromSignUp: number | null };

export type OwnedWorkspace = {
  workspace: { id: string; name: string };
  member: { id: string; personId: string; email: string };
  signUpIsOpen: boolean;
  most: MostOwned;
};

/** Creates a workspace with the person as its owner. The workspace is new if the person owns no established one, and sign-up is open or
 * they are a member of a workspace that was created through it, so that closing sign-up does not raise the quotas of people who are already
 * here. Throws when the person owns as many workspaces as they may. */
export async function createOwnedWorkspace(sql: Sql, input: OwnedWorkspace): Promise<Workspace> {
  return await sql.begin(async (tx) => {
    const { owned, isEstablished, cameBySignUp } = await lockOwner(tx, input.member.personId);
    const fromSignUp = !isEstablished && (input.signUpIsOpen || cameBySignUp);
    const most = fromSignUp ? input.most.fromSignUp : input.most.established;
    if (most !== null && owned >= most) throw tooManyOwned(most, "create");
    const workspace = await createWorkspace(tx, { ...input.workspace, fromSignUp });
    await addFirstOwner(tx, { ...input.member, workspaceId: workspace.id });
    return workspace;
  });
}

/** Locks the person's row, so that concurrent calls cannot exceed the limit together. Index members_by_person. */
async function lockOwner(sql: Sql, personId: string) {
  const found = await sql`select 1 from people where id = ${personId} for no key update`;
  if (found.length === 0) throw new Problem("unauthenticated", "This account was deleted.");
  const [row] = await sql<{ owned: number; isEstablished: boolean; cameBySignUp: boolean }[]>`
    select count(*) filter (where m.role = 'owner')::int as owned,
      coalesce(bool_or(m.role = 'owner' and not w.from_sign_up), false) as "isEstablished",
      coalesce(bool_or(w.from_sign_up), false) as "cameBySignUp"
    from members m join workspaces w on w.id = m.workspace_id where m.person_id = ${personId}`;
  return row!;
}

/** Whether the person may own one more workspace, which exists already. The number: the limit that they have reached. */
export async function reachedByOwning(
  sql: Sql,
  { personId, isNew, most }: { personId: string; isNew: boolean; most: MostOwned },
): Promise<number | undefined> {
  const { owned, isEstablished } = await lockOwner(sql, personId);
  // The owner of an established workspace is established.
  const limit = isNew && !isEstablished ? most.fromSignUp : most.established;
  return limit !== null && owned >= limit ? limit : undefined;
}

/** Sorted by the bytes of the address, after the last one of the previous page: the order is the same under every collation. */
export async function listMembers(
  sql: Sql,
  page: { workspaceId: string; after: string; limit: number },
): Promise<MemberRow[]> {
  return await sql<MemberRow[]>`
    select m.id, m.email, p.name, m.role, m.invited_at as "invitedAt", m.joined_at as "joinedAt"
    from members m left join people p on p.id = m.person_id
    where m.workspace_id = ${page.workspaceId} and m.email collate "C" > ${page.after} order by m.email collate "C" limit ${page.limit}`;
}

/** Unique index of members by address. */
export async function isMemberOrInvited(sql: Sql, workspaceId: string, email: string): Promise<boolean> {
  return (await sql`select 1 from members where workspace_id = ${workspaceId} and email = ${email}`).length > 0;
}

/** Creates an invitation or renews an open one. Undefined when the person is already a member. */
export async function invite(
  sql: Sql,
  invitation: {
    workspaceId: string;
    id: string;
    email: string;
    role: Role;
    token: string;
    forMs: number;
    /** Only a mail to the address contains the link that may create an account. */
    isMailed?: boolean;
  },
): Promise<MemberRow | undefined> {
  const length = sql`${`${invitation.forMs} milliseconds`}::interval`;
  const hash = hashToken(invitation.token);
  const [row] = await sql.write<MemberRow[]>`
    insert into members as m (workspace_id, id, email, role, invite_hash, mailed_invite_hash, invite_expires_at,
      invite_service_expires_at, invited_at)
    values (${invitation.workspaceId}, ${invitation.id}, ${invitation.email}, ${invitation.role}, ${hash},
      ${invitation.isMailed ? hash : null}, wall_time() + ${length}, service_time() + ${length}, now())
    on conflict (workspace_id, email) do update set role = excluded.role, invite_hash = excluded.invite_hash,
      mailed_invite_hash = excluded.mailed_invite_hash, invite_expires_at = excluded.invite_expires_at,
      invite_service_expires_at = excluded.invite_service_expires_at, invited_at = excluded.invited_at where m.person_id is null
    returning m.id, m.email, null as name, m.role, m.invited_at as "invitedAt", m.joined_at as "joinedAt"`;
  return row;
}

/** Implemented by people/invitations.ts. `inviter` is the person; undefined for the operator's command line. */
export type Invitations = {
  invite(input: {
    workspaceId: string;
    email: string;
    role: Role;
    inviter: { id: string } | undefined;
    actor: Actor;
  }): Promise<Invited>;
};
/** `message` says whether the link was sent by mail, for the person who invites. */
export type Invited = { member: MemberRow; url: string; message: string };

export type Invitation = {
  workspaceId: string;
  workspaceName: string;
  email: string;
  role: Role;
  /** Only a mail to the address contains the link that may create an account. */
  isMailed: boolean;
};

/** An invitation ends by wall time or by service time, whichever comes first. It does not work for a person who is disabled. */
function isOpen(sql: Sql) {
  return sql`m.invite_expires_at > wall_time() and coalesce(m.invite_service_expires_at > (select service_time()), true)
    and not exists (select 1 from people d where d.email = m.email and d.disabled_at is not null)`;
}

/** Index members_invite_hash_key. */
export async function findInvite(sql: Sql, token: string): Promise<Invitation | undefined> {
  return await findInviteByHash(sql, hashToken(token));
}

/** A sign-in at a provider remembers the hash of the invitation's token. */
export async function findInviteByHash(sql: Sql, hash: string): Promise<Invitation | undefined> {
  const [row] = await sql<Invitation[]>`
    select m.workspace_id as "workspaceId", w.name as "workspaceName", m.email, m.role,
      m.mailed_invite_hash is not distinct from m.invite_hash as "isMailed"
    from members m join workspaces w on w.id = m.workspace_id where m.invite_hash = ${hash} and ${isOpen(sql)}`;
  return row;
}

/** Works once, and only for the person with the address of the invitation. Throws when the person would own too many workspaces; the
 * invitation stays open. Needs a transaction. */
export async function joinByInvite(
  sql: Sql,
  { token, ...join }: { token: string; person: { id: string; email: string }; most: MostOwned },
): Promise<{ workspaceId: string; role: Role } | undefined> {
  return await joinByInviteHash(sql, { ...join, hash: hashToken(token) });
}

export async function joinByInviteHash(
  sql: Sql,
  { hash, person, most }: { hash: string; person: { id: string; email: string }; most: MostOwned },
): Promise<{ workspaceId: string; role: Role } | undefined> {
  // Locks the workspace's row before the person's, as changeRole does, which could make the invitation one for an owner meanwhile.
  const [workspace] = await sql<{ isNew: boolean }[]>`
    select w.from_sign_up as "isNew" from workspaces w
    where w.id = (select workspace_id from members where invite_hash = ${hash}) for no key update`;
  if (!workspace) return undefined;
  const [row] = await sql<{ workspaceId: string; role: Role }[]>`
    select workspace_id as "workspaceId", role from members m
    where invite_hash = ${hash} and ${isOpen(sql)} and email = ${person.email}`;
  if (!row || !(await isKept(sql, person.id))) return undefined;
  const limit =
    row.role === "owner"
      ? await reachedByOwning(sql, { personId: person.id, isNew: workspace.isNew, most })
      : undefined;
  if (limit !== undefined) throw tooManyOwned(limit, "join");
  const [joined] = await sql<{ workspaceId: string; role: Role }[]>`
    update members m set person_id = ${person.id}, joined_at = now(), invite_hash = null, invite_expires_at = null
    where invite_hash = ${hash} and ${isOpen(sql)} and email = ${person.email}
    returning workspace_id as "workspaceId", role`;
  return joined;
}

/** False: the person was deleted meanwhile. A deletion that begins later waits for the end of this transaction. */
export async function isKept(sql: Sql, personId: string): Promise<boolean> {
  return (await sql`select 1 from people where id = ${personId} for key share`).length > 0;
}

/** The changed row, undefined when there is no such member, or a refusal: a workspace must keep its last owner. */
export type Change<T> = T | "last owner" | undefined;

/** What a removal did. `validKeys`: keys of the member that are still valid. */
export type Removed = { email: string; joined: boolean; revokedKeys: number; validKeys: number };

/** Sessions find the role in each call, so the member loses access with the commit. Streams notice it within seconds (keys/store.ts). */
export async function removeMember(
  sql: Sql,
  removal: { workspaceId: string; id: string; revokeKeys: boolean; actor: Actor },
): Promise<Change<Removed>> {
  const { workspaceId, id, revokeKeys, actor } = removal;
  return await sql.begin(async (tx) => {
    const member = await lockMember(tx, workspaceId, id);
    if (!member) return undefined;
    if (member.lastOwner) return "last owner";
    await tx`delete from members where workspace_id = ${workspaceId} and id = ${id}`;
    const { personId, email } = member;
    await record(tx, actor, {
      action: personId ? "member.removed" : "invitation.revoked",
      workspaceId,
      target: personId ? { kind: "person", id: personId } : { kind: "member", id },
    });
    if (!personId) return { email, joined: false, revokedKeys: 0, validKeys: 0 };
    const revoked = revokeKeys ? await revokeKeysMadeBy(tx, { workspaceId, personId }) : [];
    await record(tx, actor, ...revoked.map((key) => keyRevoked(key)));
    const validKeys = revokeKeys ? 0 : await countKeysMadeBy(tx, workspaceId, personId);
    return { email, joined: true, revokedKeys: revoked.length, validKeys };
  });
}

export function keyRevoked(key: { id: string; workspaceId: string }): AuditChange {
  return { action: "key.revoked", workspaceId: key.workspaceId, target: { kind: "key", id: key.id } };
}

/** The person of a member; null for an open invitation. Primary key. */
export async function personOfMember(sql: Sql, workspaceId: string, id: string): Promise<string | null | undefined> {
  const [row] = await sql<{ personId: string | null }[]>`
    select person_id as "personId" from members where workspace_id = ${workspaceId} and id = ${id}`;
  return row?.personId;
}

/** Throws when a member would own too many workspaces. For an open invitation, joinByInvite decides that. */
export async function changeRole(
  sql: Sql,
  change: { workspaceId: string; id: string; role: Role; most: MostOwned },
): Promise<Change<MemberRow>> {
  const { workspaceId, id, role, most } = change;
  return await sql.begin(async (tx) => {
    const member = await lockMember(tx, workspaceId, id);
    if (!member) return undefined;
    if (member.lastOwner && role !== "owner") return "last owner";
    const { personId, isNew } = member;
    const becomesOwner = role === "owner" && member.role !== "owner" && personId !== null;
    const limit = becomesOwner ? await reachedByOwning(tx, { personId, isNew, most }) : undefined;
    if (limit !== undefined) throw tooManyOwned(limit, "promote", member.email);
    const [row] = await tx<MemberRow[]>`
      update members m set role = ${role} where m.workspace_id = ${workspaceId} and m.id = ${id}
      returning m.id, m.email, (select p.name from people p where p.id = m.person_id) as name, m.role,
        m.invited_at as "invitedAt", m.joined_at as "joinedAt"`;
    return row;
  });
}

/** Locks the workspace's row first, so that two owners cannot remove each other concurrently. An invited owner does not count as one. */
async function lockMember(sql: Sql, workspaceId: string, id: string) {
  await sql`select 1 from workspaces where id = ${workspaceId} for no key update`;
  type Locked = { email: string; role: Role; personId: string | null; isNew: boolean; lastOwner: boolean };
  const [member] = await sql<Locked[]>`
    select m.email, m.role, m.person_id as "personId", w.from_sign_up as "isNew",
      m.role = 'owner' and m.person_id is not null and not exists (
        select 1 from members o where o.workspace_id = m.workspace_id and o.id <> m.id and o.role = 'owner' and o.person_id is not null
      ) as "lastOwner"
    from members m join workspaces w on w.id = m.workspace_id where m.workspace_id = ${workspaceId} and m.id = ${id}`;
  return member;
}

/** Creates a workspace together with its event counter. */
export async function createWorkspace(
  sql: Sql,
  workspace: { id: string; name: string; fromSignUp?: boolean; kind?: "customer" | "system" },
): Promise<Workspace> {
  const [row] = await sql.write<Workspace[]>`
    with counter as (insert into event_counters (workspace_id) values (${workspace.id}))
    insert into workspaces (id, name, from_sign_up, kind)
    values (${workspace.id}, ${workspace.name}, ${workspace.fromSignUp ?? false}, ${workspace.kind ?? "customer"})
    returning ${columns(sql)}`;
  return row!;
}

/** Index workspaces_pkey. */
export async function getWorkspace(sql: Sql, id: string): Promise<Workspace | undefined> {
  const [row] = await sql<Workspace[]>`
    select ${columns(sql)} from workspaces where id = ${id} and kind = 'customer'`;
  return row;
}

/** A field that is undefined stays as it is. */
export async function updateWorkspace(
  sql: Sql,
  id: string,
  change: { name: string | undefined; requireSecondFactor: boolean | undefined },
): Promise<Workspace | undefined> {
  const [row] = await sql.write<Workspace[]>`
    update workspaces set name = coalesce(${change.name ?? null}, name), updated_at = now(),
      require_second_factor = coalesce(${change.requireSecondFactor ?? null}, require_second_factor) where id = ${id}
    returning ${columns(sql)}`;
  return row;
}

function columns(sql: Sql) {
  return sql`id, name, created_at as "createdAt", updated_at as "updatedAt", require_second_factor as "requireSecondFactor"`;
}

/** At most two rows, which is enough to detect an ambiguous name. Without workspaces that are being deleted, unless the caller asks. */
export async function findWorkspaceByName(
  sql: Sql,
  name: string,
  { withDeleting }: { withDeleting: boolean } = { withDeleting: false },
): Promise<Workspace[]> {
  return await sql<Workspace[]>`
    select ${columns(sql)} from workspaces where name = ${name} and kind = 'customer' and (deleting_at is null or ${withDeleting}) order by id limit 2`;
}

export async function listWorkspaces(sql: Sql): Promise<Workspace[]> {
  return await sql<Workspace[]>`select ${columns(sql)} from workspaces where kind = 'customer' order by id limit 1000`;
}

/** The totals of the whole service, for the last line that a restore prints. */
export async function countAll(
  sql: Sql,
): Promise<{ workspaces: number; domains: number; emails: number; events: number }> {
  const [row] = await sql<{ workspaces: number; domains: number; emails: number; events: number }[]>`
    select (select count(*)::int from workspaces where kind = 'customer') as workspaces, (select count(*)::int from domains where deleted_at is null) as domains,
      (select count(*)::int from emails) as emails, (select count(*)::int from events) as events`;
  return row!;
}
