/** The SQL that deletes a workspace: `beginDeletion` takes everything out of service in one transaction, `deleteBatch` and `finishDeletion`
 * delete the rows. Every step can be repeated, so a kill at any time loses nothing but a batch. Called by ../deletion.ts. */
import { keepServedKeys } from "../../domains/store/dkim-keys.ts";
import type { Sql } from "../../postgres/pool.ts";
import { forgetReplies } from "./person-deletion.ts";

/** What callers read while the workspace is being deleted. */
const reason = "This workspace is being deleted.";

/**
 * Needs a transaction. Uses only what every node checks anyway: revoked keys, missing members, deleted domains and webhooks, and a
 * suspended workspace, so it takes effect at once on all nodes, also on those of an earlier release. False: it has begun before.
 */
export async function beginDeletion(sql: Sql, workspaceId: string): Promise<boolean> {
  const rows = await sql`
    update workspaces set deleting_at = wall_time(), suspended_at = coalesce(suspended_at, wall_time()), suspended_reason = ${reason},
      updated_at = now() where id = ${workspaceId} and deleting_at is null returning 1`;
  if (rows.length === 0) return false;
  await keepServedKeys(sql, workspaceId);
  await sql`
    with locked as materialized (
      select id from keys where workspace_id = ${workspaceId} and revoked_at is null order by id for no key update)
    update keys set revoked_at = now() where id in (select id from locked)`;
  await sql`delete from members where workspace_id = ${workspaceId}`;
  await sql`delete from webhooks where workspace_id = ${workspaceId}`;
  await sql`delete from published_zones where workspace_id = ${workspaceId}`;
  await sql`delete from domain_links where workspace_id = ${workspaceId}`;
  await sql`
    update domains set deleted_at = (select service_time()), can_send = false, can_receive = false, check_lease = null, check_lease_until = null
    where workspace_id = ${workspaceId} and deleted_at is null`;
  await sql`insert into workspace_deletions (workspace_id) values (${workspaceId}) on conflict do nothing`;
  return true;
}

/** How long late rows are looked for after a deletion has finished: some transactions began before it, and their writes name only the id. */
const sweptForDays = 7;
const sweepEveryMinutes = 10;

export type Deletion = { workspaceId: string; isFinished: boolean };

/** Deletions with work to do: unfinished ones first, then those to be swept again. */
export async function findDeletions(sql: Sql): Promise<Deletion[]> {
  return await sql<Deletion[]>`
    select workspace_id as "workspaceId", finished_at is not null as "isFinished" from workspace_deletions
    where finished_at is null or coalesce(swept_at, finished_at) < (select service_time()) - ${sweepEveryMinutes} * interval '1 minute'
    order by finished_at nulls first, workspace_id limit 100`;
}

export async function isDeleted(sql: Sql, workspaceId: string): Promise<boolean> {
  const rows = await sql`select 1 from workspace_deletions where workspace_id = ${workspaceId} and finished_at is null`;
  return rows.length === 0;
}

/** Called by housekeeping. */
export async function forgetDeletions(sql: Sql): Promise<void> {
  await sql`delete from workspace_deletions where finished_at < (select service_time()) - ${sweptForDays} * interval '1 day'`;
}

/** The audit log keeps its entries, which hold ids only. `finishDeletion` ends a deletion. */
export const tablesThatStay = ["audit_entries", "workspace_deletions"];
/** Others refer to their rows. */
const deletedLast = ["dkim_keys", "domains"];

/** Every table with rows of a workspace, from the catalog: a new table cannot be forgotten. Partitions, not their parents. */
export async function listTables(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select quote_ident(c.relname) as name from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id' and not a.attisdropped
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.relname <> all(${tablesThatStay}::text[])
    order by coalesce(array_position(${deletedLast}::text[], c.relname::text), 0), c.relname`;
  return rows.map(({ name }) => name);
}

/** The first key of the advisory lock; no other lock of ours may use it. */
const lockSpace = 0x77736465; // "wsde"

/** Deletes up to `limit` rows of a table. "busy": another node is deleting a batch of this workspace. By ctid: each table finds the rows of
 * a workspace by an index, but the tables have different keys. */
export async function deleteBatch(
  sql: Sql,
  batch: { workspaceId: string; table: string; limit: number },
): Promise<number | "busy"> {
  const { workspaceId, table, limit } = batch;
  try {
    return await sql.begin(async (tx) => {
      if (!(await lock(tx, workspaceId))) return "busy";
      // With the statistics of a full table, the planner would read the deleted rows of all earlier batches again.
      await tx.unsafe("set local enable_seqscan = off; set local enable_bitmapscan = off");
      const name = tx.unsafe(table);
      const rows = await tx`
        delete from ${name} where ctid = any(array(select ctid from ${name} where workspace_id = ${workspaceId} limit ${limit})) returning 1`;
      return rows.length;
    });
  } catch (error) {
    // Retention has dropped the partition.
    if ((error as { code?: string }).code === "42P01") return 0;
    throw error;
  }
}

async function lock(tx: Sql, workspaceId: string): Promise<boolean> {
  const [row] = await tx<{ taken: boolean }[]>`
    select pg_try_advisory_xact_lock(${lockSpace}::int, hashtext(${workspaceId})) as taken`;
  return row!.taken;
}

/** The client addresses of what keys and strangers did in the workspace. Those of people stay until the person is deleted. */
export async function deleteClients(sql: Sql, { workspaceId, limit }: { workspaceId: string; limit: number }) {
  const rows = await sql`
    delete from audit_clients where entry_id in (
      select c.entry_id from audit_entries e join audit_clients c on c.entry_id = e.id
      where e.workspace_id = ${workspaceId} and e.actor <> 'person' order by c.entry_id limit ${limit} for update of c) returning 1`;
  return rows.length;
}

/** Needs a transaction. The last step, when no table has rows of the workspace. False: it has been done. A row that was added meanwhile to
 * a table that refers to the workspace violates a foreign key (23503). */
export async function finishDeletion(sql: Sql, workspaceId: string): Promise<boolean> {
  await sql`delete from workspaces where id = ${workspaceId} and deleting_at is not null`;
  await forgetReplies(sql);
  const rows = await sql`
    update workspace_deletions set finished_at = (select service_time()) where workspace_id = ${workspaceId} and finished_at is null returning 1`;
  return rows.length > 0;
}

export async function noteSwept(sql: Sql, workspaceId: string): Promise<void> {
  await sql`update workspace_deletions set swept_at = (select service_time()) where workspace_id = ${workspaceId}`;
}
