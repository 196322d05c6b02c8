/** The SQL of the audit log: entries, and the client addresses that are deleted with a person. Entries are never updated; a trigger
 * refuses it. Called by record.ts, service.ts, the commands and housekeeping. */
import type { Sql } from "../postgres/pool.ts";
import type { Actor, AuditChange, AuditEntry } from "./entry.ts";

export async function insertEntries(sql: Sql, actor: Actor, changes: readonly AuditChange[]): Promise<void> {
  const rows = changes.map(({ action, workspaceId, target, fields, reason }) => ({
    action,
    workspace_id: workspaceId ?? null,
    target: target?.kind ?? null,
    target_id: target?.id ?? null,
    fields: [...(fields ?? [])],
    reason: reason ?? null,
  }));
  // A person or a key may be deleted in the same transaction, and then has no address to keep. The lock waits for another transaction that
  // deletes the person: without it, the foreign key would refuse the row.
  const person = sql`${actor.personId ?? null}::uuid`;
  const owner =
    actor.kind === "key"
      ? sql`coalesce(${person}, (with recursive made (maker_person_id, maker_key_id) as (
          select k.maker_person_id, k.maker_key_id from keys k where k.id = ${actor.id ?? null}::uuid
          union select k.maker_person_id, k.maker_key_id from keys k join made m on k.id = m.maker_key_id)
        select maker_person_id from made where maker_person_id is not null limit 1))`
      : person;
  await sql`
    with added as (
      insert into audit_entries (workspace_id, actor, actor_id, action, target, target_id, fields, reason)
      select r.workspace_id, ${actor.kind}, ${actor.id ?? null}::uuid, r.action, r.target, r.target_id, r.fields, r.reason
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as r(workspace_id uuid, action text, target text, target_id uuid, fields text[], reason text)
      returning id
    ), owner as (
      select ${owner} as id where ${actor.address ?? null}::text is not null
    ), kept as (
      select p.id from people p join owner o on o.id = p.id for key share of p
    )
    insert into audit_clients (entry_id, person_id, address)
    select a.id, o.id, ${actor.address ?? null} from added a, owner o where o.id is null or exists (select 1 from kept)`;
}

export type AuditFilter = {
  /** Undefined: the entries of the whole service, and of every workspace. */
  workspaceId: string | undefined;
  actorId?: string;
  targetId?: string;
  /** An action, such as `key.created`, or a noun, such as `key`. */
  action?: string;
  from?: Date;
  to?: Date;
};

/** Where a page goes on. Entries are sorted by time, and by id within the same time. */
export type AuditPlace = { at: Date; id: string };

/** Newest first (indexes audit_by_workspace, audit_by_actor, audit_by_target, audit_by_time). */
export async function listEntries(
  sql: Sql,
  filter: AuditFilter,
  page: { before: AuditPlace | undefined; limit: number },
): Promise<AuditEntry[]> {
  const { workspaceId, actorId, targetId, action, from, to } = filter;
  const { before } = page;
  // To a workspace, people who are not its members stay unknown: neither their name nor their address is shown.
  const isMember = sql`exists (select 1 from members m where m.person_id = e.actor_id and m.workspace_id = e.workspace_id)`;
  const address =
    workspaceId === undefined ? sql`c.address` : sql`case when e.actor <> 'person' or ${isMember} then c.address end`;
  return await sql<AuditEntry[]>`
    select e.id::text, e.workspace_id as "workspaceId", e.at, e.actor, e.actor_id as "actorId", e.action, e.target, e.target_id as "targetId",
      e.fields, e.reason, ${address} as address,
      case e.actor when 'key' then (select k.name from keys k where k.id = e.actor_id)
        when 'person' then (select p.name from people p where p.id = e.actor_id
          ${workspaceId === undefined ? sql`` : sql`and ${isMember}`})
        end as "actorName"
    from audit_entries e left join audit_clients c on c.entry_id = e.id
    where true
      ${workspaceId === undefined ? sql`` : sql`and e.workspace_id = ${workspaceId}`}
      ${actorId === undefined ? sql`` : sql`and e.actor_id = ${actorId}`}
      ${targetId === undefined ? sql`` : sql`and e.target_id = ${targetId}`}
      ${action === undefined ? sql`` : sql`and (e.action = ${action} or starts_with(e.action, ${`${action}.`}))`}
      ${from === undefined ? sql`` : sql`and e.at >= ${from}`}
      ${to === undefined ? sql`` : sql`and e.at < ${to}`}
      ${before === undefined ? sql`` : sql`and (e.at, e.id) < (${before.at}, ${before.id}::bigint)`}
    order by e.at desc, e.id desc limit ${page.limit}`;
}

/** Deletes entries that are older than the history, some thousands at a time (index audit_by_age). By service time, as all history. Called by housekeeping. */
export async function forgetEntries(sql: Sql, historyDays: number): Promise<void> {
  const batch = 5000;
  for (;;) {
    const rows = await sql`
      with old as (
        select id from audit_entries where stored_at < (select service_time()) - ${`${historyDays} days`}::interval limit ${batch}
      ), clients as (delete from audit_clients where entry_id in (select id from old))
      delete from audit_entries where id in (select id from old) returning 1`;
    if (rows.length < batch) return;
  }
}
