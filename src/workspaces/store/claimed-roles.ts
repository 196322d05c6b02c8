/** The SQL of memberships that a provider decides: the role that its claim gives, and the workspace that people join who sign up by it.
 * Called by people/oidc/admit.ts, in a transaction. */
import type { Role } from "../../http/caller.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { isKept, type MostOwned, reachedByOwning } from "../store.ts";

export type ClaimedRole = {
  workspaceId: string;
  person: { id: string; email: string };
  /** The issuer whose claim decides. Undefined for a role that the sign-up gives once. */
  issuer: string | undefined;
  /** Undefined: the claim gives none. */
  role: Role | undefined;
  most: MostOwned;
  nowMs: number;
};

/** What happened to the membership. `last owner` and `too many owned`: it stays as it was. */
export type RoleChange =
  | { change: "added" | "changed" | "removed"; memberId: string }
  | { change: "none" | "last owner" | "too many owned" };

/** Memberships that an owner, an invitation or another issuer gave stay as they are. */
export async function applyClaimedRole(sql: Sql, claimed: ClaimedRole): Promise<RoleChange> {
  const { workspaceId, person, issuer, role } = claimed;
  // Locks the workspace's row before the person's, as joinByInvite does: two owners cannot lose their roles together.
  const [workspace] = await sql<{ isNew: boolean }[]>`
    select from_sign_up as "isNew" from workspaces where id = ${workspaceId} for no key update`;
  if (!workspace) return { change: "none" };
  const [member] = await sql<{ id: string; role: Role; issuer: string | null; isLastOwner: boolean }[]>`
    select m.id, m.role, m.role_issuer as issuer, m.role = 'owner' and not exists (
        select 1 from members o where o.workspace_id = m.workspace_id and o.id <> m.id and o.role = 'owner' and o.person_id is not null
      ) as "isLastOwner"
    from members m where m.workspace_id = ${workspaceId} and m.person_id = ${person.id}`;
  if (member && (issuer === undefined || member.issuer !== issuer)) return { change: "none" };
  if (member?.role === role) return { change: "none" };
  if (!(await isKept(sql, person.id))) return { change: "none" };
  if (member?.isLastOwner) return { change: "last owner" };
  const owning = { personId: person.id, isNew: workspace.isNew, most: claimed.most };
  if (role === "owner" && (await reachedByOwning(sql, owning)) !== undefined) return { change: "too many owned" };
  if (!member) return role ? await join(sql, claimed, role) : { change: "none" };
  if (role) await sql`update members set role = ${role} where workspace_id = ${workspaceId} and id = ${member.id}`;
  else await sql`delete from members where workspace_id = ${workspaceId} and id = ${member.id}`;
  return { change: role ? "changed" : "removed", memberId: member.id };
}

/** There may be an open invitation for the same address. */
async function join(sql: Sql, claimed: ClaimedRole, role: Role): Promise<RoleChange> {
  const { workspaceId, person, issuer, nowMs } = claimed;
  const [row] = await sql<{ id: string }[]>`
    insert into members as m (workspace_id, id, person_id, email, role, role_issuer, joined_at)
    values (${workspaceId}, ${makeUuid(nowMs)}, ${person.id}, ${person.email}, ${role}, ${issuer ?? null}, now())
    on conflict (workspace_id, email) do update set person_id = excluded.person_id, role = excluded.role,
      role_issuer = excluded.role_issuer, joined_at = now(), invite_hash = null, invite_expires_at = null
      where m.person_id is null
    returning m.id`;
  return row ? { change: "added", memberId: row.id } : { change: "none" };
}
