/** Runs three nodes that share the roles on one database. Calls alternate between the nodes with the role api, as behind a
 * load balancer. */
import { expireHeartbeat } from "./kill-points.ts";
import type { RunningProgram } from "./program.ts";
import { startTestbed, type Testbed, type TestbedOptions } from "./testbed.ts";
import { until } from "./wait.ts";

/** Every role that must not be interrupted runs on two nodes. */
export const splitRoles = {
  a: "api,webhooks,housekeeping,inbound",
  b: "api,delivery,inbound",
  c: "delivery,webhooks,dns",
} as const;
export type NodeName = keyof typeof splitRoles;
export const nodeNames = Object.keys(splitRoles) as NodeName[];

export type Cluster = Testbed & {
  node(name: NodeName): RunningProgram;
  /** The application_name of a node's sessions in pg_stat_activity. */
  sessionName(name: NodeName): string;
  /** Starts a node again; its previous process must have ended. */
  restart(name: NodeName): Promise<void>;
  /** The URLs of the nodes with the role api, in turn. */
  nextUrl(): string;
  /** Open recipients that this node has leased. */
  leasedBy(name: NodeName): Promise<number>;
  /** Moves the node's heartbeat into the past, so that the other nodes treat it as dead. */
  expireHeartbeat(name: NodeName): Promise<void>;
};

export async function startCluster(options: TestbedOptions = {}): Promise<Cluster> {
  // Only a killed node may leave work in doubt, so a node that stops on a busy machine gets enough time to drain.
  const env = { POSTHORN_DRAIN_MS: "60000", ...options.env };
  const testbed = await startTestbed({ ...options, env: { ...env, POSTHORN_ROLES: splitRoles.a } });
  const nodes = new Map<NodeName, RunningProgram>([["a", testbed.program]]);
  const sessionName = (name: NodeName) => (name === "a" ? "posthorn" : `posthorn-${name}`);
  const start = async (name: NodeName) => {
    const url = `${testbed.database.url}?application_name=${sessionName(name)}`;
    nodes.set(name, await testbed.startNode({ POSTHORN_ROLES: splitRoles[name], DATABASE_URL: url }));
  };
  let turn = 0;
  const next = () => {
    const apiNodes = nodeNames.filter((name) => splitRoles[name].split(",").includes("api"));
    return nodes.get(apiNodes[turn++ % apiNodes.length]!)!;
  };
  try {
    await Promise.all([start("b"), start("c")]);
  } catch (error) {
    await testbed.stop();
    throw error;
  }
  testbed.call = (...args) => next().call(...args);
  return Object.assign(testbed, {
    sessionName,
    node: (name: NodeName) => nodes.get(name)!,
    restart: start,
    nextUrl: () => next().url,
    async leasedBy(name: NodeName) {
      const [row] = await testbed.database.sql<{ n: number }[]>`
        select count(*)::int as n from recipients where status in ('queued', 'delayed')
        and lease >> 32 in (select id from workers where pid = ${nodes.get(name)!.pid})`;
      return row!.n;
    },
    expireHeartbeat: (name: NodeName) => expireHeartbeat(testbed, nodes.get(name)!),
  });
}

/** Polls the number of sessions of each node and keeps the highest value. */
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
