/** Three nodes that share the roles on one database, behind a plain balancer: what one is asked for while it is away, another does. */
import { passDeadline } from "./kill-points.ts";
import type { RunningProgram } from "./program.ts";
import { until } from "./wait.ts";
import { startWorld, type World, type WorldOptions } from "./world.ts";

/** Every role that must not pause stands on two of them. */
export const splitRoles = {
  a: "api,webhooks,housekeeping,inbound",
  b: "api,delivery,inbound",
  c: "delivery,webhooks,dns",
} as const;
export type NodeName = keyof typeof splitRoles;
export const nodeNames = Object.keys(splitRoles) as NodeName[];

export type Cluster = World & {
  node(name: NodeName): RunningProgram;
  /** The name of a node's sessions in pg_stat_activity. */
  sessionName(name: NodeName): string;
  /** Starts a node anew; the one before must have ended. */
  restart(name: NodeName): Promise<void>;
  /** The nodes with the role api, in turn. */
  nextUrl(): string;
  /** Open recipients that this node has leased. */
  leasedBy(name: NodeName): Promise<number>;
  /** As if the time had passed after which a silent node is taken for dead. */
  passDeadline(name: NodeName): Promise<void>;
};

export async function startCluster(options: WorldOptions = {}): Promise<Cluster> {
  // Nothing but a death leaves work in doubt, so a node that stops on a busy machine gets the time that it needs.
  const env = { POSTHORN_DRAIN_MS: "60000", ...options.env };
  const world = await startWorld({ ...options, env: { ...env, POSTHORN_ROLES: splitRoles.a } });
  const nodes = new Map<NodeName, RunningProgram>([["a", world.program]]);
  const sessionName = (name: NodeName) => (name === "a" ? "posthorn" : `posthorn-${name}`);
  const start = async (name: NodeName) => {
    const url = `${world.database.url}?application_name=${sessionName(name)}`;
    nodes.set(name, await world.startNode({ POSTHORN_ROLES: splitRoles[name], DATABASE_URL: url }));
  };
  let turn = 0;
  const next = () => {
    const speaking = nodeNames.filter((name) => splitRoles[name].split(",").includes("api"));
    return nodes.get(speaking[turn++ % speaking.length]!)!;
  };
  try {
    await Promise.all([start("b"), start("c")]);
  } catch (error) {
    await world.stop();
    throw error;
  }
  world.call = (...args) => next().call(...args);
  return Object.assign(world, {
    sessionName,
    node: (name: NodeName) => nodes.get(name)!,
    restart: start,
    nextUrl: () => next().url,
    async leasedBy(name: NodeName) {
      const [row] = await world.database.sql<{ n: number }[]>`
        select count(*)::int as n from recipients where status in ('queued', 'delayed')
        and lease >> 32 in (select id from workers where pid = ${nodes.get(name)!.pid})`;
      return row!.n;
    },
    passDeadline: (name: NodeName) => passDeadline(world, nodes.get(name)!),
  });
}

/** The most sessions that each node had at once, looked at all the while. */
export function watchSessions(cluster: Cluster): { peaks: Map<string, number>; stop(): Promise<void> } {
  const peaks = new Map<string, number>();
  const stopping = new AbortController();
  const work = until(
    "the end of the watch",
    async () => {
      const rows = await cluster.database.sql<{ name: string; n: number }[]>`
        select application_name as name, count(*)::int as n from pg_stat_activity
        where datname = current_database() and application_name like 'posthorn%' group by 1`;
      for (const { name, n } of rows) peaks.set(name, Math.max(n, peaks.get(name) ?? 0));
      return stopping.signal.aborted;
    },
    { withinMs: 600_000, everyMs: 50 },
  );
  work.catch(() => {});
  return {
    peaks,
    async stop() {
      stopping.abort();
      await work;
    },
  };
}
