/** Running programs: each has a row and a heartbeat on the database's clock; leases of a silent one are free to take. */
import type { Sql } from "./db.ts";

/** A worker unseen for this long is dead: longer than any pause of a healthy process, short enough to wait for. */
export const deadAfterSeconds = 30;

export async function registerWorker(
  sql: Sql,
  worker: {
    host: string;
    pid: number;
    roles: string[];
    version: string;
    /** The schema version that the program was written for. */
    schemaVersion?: number;
  },
): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    insert into workers (host, pid, roles, version, schema_version)
    values (${worker.host}, ${worker.pid}, ${worker.roles}, ${worker.version}, ${worker.schemaVersion ?? null}) returning id`;
  return row!.id;
}

/** False when the row is gone: the program was taken for dead and must register anew. Also gives the database's time. */
export async function beat(sql: Sql, workerId: number): Promise<{ alive: boolean; nowMs: number }> {
  const [row] = await sql<{ alive: boolean; nowMs: number }[]>`
    with seen as (update workers set seen_at = now() where id = ${workerId} returning id)
    select exists (select 1 from seen) as alive, (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`;
  return row!;
}

export async function forgetWorker(sql: Sql, workerId: number): Promise<void> {
  await sql`delete from workers where id = ${workerId}`;
}

/** Rows of programs that died long ago; their leases are free without this. */
export async function forgetDeadWorkers(sql: Sql): Promise<void> {
  await sql`delete from workers where seen_at < now() - interval '1 day'`;
}

/** Only for a program that has the database to itself: recovery after a crash need not wait for silence. */
export async function forgetAllWorkers(sql: Sql): Promise<void> {
  await sql`delete from workers`;
}

/** What the living programs do, all of them together. */
export async function aliveRoles(sql: Sql): Promise<Set<string>> {
  const rows = await sql<{ role: string }[]>`
    select distinct unnest(roles) as role from workers where seen_at > now() - make_interval(secs => ${deadAfterSeconds})`;
  return new Set(rows.map(({ role }) => role));
}

/** How many living programs do each role. One program has several rows while it renews its id, so processes are counted. */
export async function nodesByRole(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql<{ role: string; nodes: number }[]>`
    select role, count(distinct (host, pid))::int as nodes from workers, unnest(roles) as role
    where seen_at > now() - make_interval(secs => ${deadAfterSeconds}) group by role`;
  return new Map(rows.map(({ role, nodes }) => [role, nodes]));
}
