/** The cost of a piece of work: CPU time of the program and of PostgreSQL, and the bytes that PostgreSQL writes (Linux). */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Environment } from "./environment.ts";

export type Cost = { programMs: number; databaseMs: number; walBytes: number; storedBytes: number };

/** USER_HZ, which is 100 wherever Node runs. */
const tickMs = 10;

/** Starts measuring. The returned function gives the cost since then. */
export async function startCost(environment: Environment, pid: number): Promise<() => Promise<Cost>> {
  const before = await readTotals(environment, pid);
  return async () => {
    const now = await readTotals(environment, pid);
    const names = Object.keys(now) as (keyof Cost)[];
    return Object.fromEntries(names.map((name) => [name, now[name] - before[name]])) as Cost;
  };
}

async function readTotals({ sql, databasePid }: Environment, pid: number): Promise<Cost> {
  const [row] = await sql<{ wal: number; stored: number }[]>`
    select (pg_current_wal_insert_lsn() - '0/0')::float8 as wal, pg_database_size(current_database())::float8 as stored`;
  const server = databasePid();
  return {
    // With several processes, the one with this id is their supervisor.
    programMs: withChildrenMs(pid),
    databaseMs: server === undefined ? Number.NaN : withChildrenMs(server),
    walBytes: row!.wal,
    storedBytes: row!.stored,
  };
}

/** CPU time of a process and its child processes, running and ended; NaN on systems without /proc. */
export function withChildrenMs(parent: number): number {
  if (!existsSync("/proc/self/stat")) return Number.NaN;
  const server = cpuMs(parent);
  let sum = server.own + server.ended;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const child = cpuMs(Number(name));
      if (child.parent === parent) sum += child.own;
    } catch {
      // The process ended since the list was read. Its time counts as the server's.
    }
  }
  return sum;
}

/** proc(5): the name in parentheses is followed by the state (field 3), the parent (4) and the times (14 to 17). */
function cpuMs(pid: number): { parent: number; own: number; ended: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = (field: number) => Number(fields[field - 3]);
  return { parent: ticks(4), own: (ticks(14) + ticks(15)) * tickMs, ended: (ticks(16) + ticks(17)) * tickMs };
}

/** CPU time that all processes and the host of a virtual machine have taken from the cores. */
export function machineMs(): number {
  // proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
  const [user, nice, system, , , irq, softirq, steal] = readFileSync("/proc/stat", "utf8")
    .split("\n", 1)[0]!
    .split(/\s+/)
    .slice(1, 9)
    .map(Number) as [number, number, number, number, number, number, number, number];
  return (user + nice + system + irq + softirq + steal) * tickMs;
}

/** CPU time of the sessions of one database, of which a program keeps its own open, so that two databases of one server can be compared. */
export async function startSessionCost({ sql }: Pick<Environment, "sql">): Promise<() => Promise<number>> {
  const before = await sessionsMs(sql);
  return async () => {
    const now = await sessionsMs(sql);
    return [...now].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? 0), 0);
  };
}

async function sessionsMs(sql: Environment["sql"]): Promise<Map<number, number>> {
  const sessions = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and application_name = 'posthorn'`;
  return new Map(sessions.map(({ pid }) => [pid, onCpuMs(pid)]));
}

/** The first field of /proc/PID/schedstat: nanoseconds on a core. */
function onCpuMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
}
