/** Workers: each running program has a row and a heartbeat by service time. Leases of a worker without a heartbeat are free. */
import type { Sql } from "./pool.ts";
import { serviceTime } from "./service-clock.ts";

/** A worker without a heartbeat for this long is dead: longer than any pause of a healthy process, short enough to wait for. */
export const deadAfterSeconds = 30;

/** The identity under which a loop takes leases. */
export type Worker = {
  workerId(): number;
  /** Continues under a new id. The old id stays alive until `done`; then its leases are free. */
  renew(done: Promise<unknown>): Promise<void>;
};

/** A lease id is unique forever: it combines the worker's id, which is never reused, with a count. */
export function makeLease(workerId: number, count: number): string {
  return ((BigInt(workerId) << 32n) | BigInt(count >>> 0)).toString();
}

export async function registerWorker(
  sql: Sql,
  worker: {
    host: string;
    pid: number;
    roles: string[];
    version: string;
    /** The schema version that the program ships. */
    schemaVersion?: number;
    /** The ids of the secrets that the program holds, the active one first. */
    secretKeys?: readonly string[];
    /** Identifies one run of a supervised process. */
    run?: string;
  },
): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    insert into workers (host, pid, roles, version, schema_version, secret_keys, run, beat_at)
    values (${worker.host}, ${worker.pid}, ${worker.roles}, ${worker.version}, ${worker.schemaVersion ?? null},
      ${worker.secretKeys ?? null}::text[], ${worker.run ?? null}, service_time())
    returning id`;
  return row!.id;
}

/** Called when the secrets of a program have changed. */
export async function noteSecretKeys(sql: Sql, workerIds: readonly number[], keys: readonly string[]): Promise<void> {
  await sql`update workers set secret_keys = ${keys}::text[] where id = any(${workerIds}::int[])`;
}

/** A live worker; `secretKeys` is null for one of an earlier release. */
export type LiveWorker = { host: string; pid: number; version: string; secretKeys: string[] | null };

export async function listLiveWorkers(sql: Sql): Promise<LiveWorker[]> {
  return await sql<LiveWorker[]>`
    select host, pid, version, secret_keys as "secretKeys" from workers where ${isAlive(sql)} order by host, pid, id`;
}

export async function forgetWorker(sql: Sql, workerId: number): Promise<void> {
  await sql`delete from workers where id = ${workerId}`;
}

/** The rows of a supervised process that has ended. Their leases are free at once. */
export async function forgetRun(sql: Sql, run: string): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`delete from workers where run = ${run} returning id`;
  return rows.map(({ id }) => id);
}

/** Deletes rows of programs that died long ago. Their leases are already free. */
export async function forgetDeadWorkers(sql: Sql): Promise<void> {
  await sql`delete from workers where ${silence(sql)} > interval '1 day'`;
}

/** Only for a program that is alone on the database: after a crash it need not wait until the old worker counts as dead. */
export async function forgetAllWorkers(sql: Sql): Promise<void> {
  await sql`delete from workers`;
}

/** The roles that at least one live program has. */
export async function aliveRoles(sql: Sql): Promise<Set<string>> {
  const rows = await sql<{ role: string }[]>`
    select distinct unnest(roles) as role from workers where ${isAlive(sql)}`;
  return new Set(rows.map(({ role }) => role));
}

/** The number of live programs per role. Counts processes, because one program has two rows while it renews its id. */
export async function nodesByRole(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql<{ role: string; nodes: number }[]>`
    select role, count(distinct (host, pid))::int as nodes from workers, unnest(roles) as role
    where ${isAlive(sql)} group by role`;
  return new Map(rows.map(({ role, nodes }) => [role, nodes]));
}

/** The ids of live workers as one array, `ids`. The worker of `lease` runs the statement, so it always counts as alive. */
export function liveWorkers(sql: Sql, lease?: string) {
  const live = sql`from workers where ${isAlive(sql)}`;
  return lease === undefined
    ? sql`select coalesce(array_agg(id::bigint), '{}') as ids ${live}`
    : sql`select array_append(array_agg(id::bigint), ${lease}::bigint >> 32) as ids ${live}`;
}

/** Whether a row of `workers` had a heartbeat recently. */
export function isAlive(sql: Sql) {
  return sql`${silence(sql)} < make_interval(secs => ${deadAfterSeconds})`;
}

/** The time since the last heartbeat, by service time. Programs before schema version 6 write only seen_at, by the database's clock. */
function silence(sql: Sql) {
  return sql`coalesce(${serviceTime(sql)} - beat_at, wall_time() - seen_at)`;
}
