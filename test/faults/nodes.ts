/** Faults of nodes that stop, die or freeze while others continue: one node that is replaced, and three that share the roles. */
import { type Cluster, type NodeName, nodeNames, startCluster } from "../harness/cluster.ts";
import { copiesByAddress } from "../harness/ledger.ts";
import { killProcesses } from "../harness/processes.ts";
import { startReader } from "../harness/stream-readers.ts";
import type { Testbed } from "../harness/testbed.ts";
import { type FaultRun, type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import type { Fault } from "./fault.ts";

export const nodes: Fault[] = [
  {
    name: "SIGTERM at full load",
    promise: "no new leases; leased work is settled or released within the time limit; nothing is in doubt",
    times: 5,
    inject: stopAtLoad,
  },
  {
    name: "rolling restart of three nodes with split roles",
    promise: "the same; streams resume at another node",
    times: 3,
    inject: rollingRestart,
  },
  {
    name: "one of three nodes dies",
    promise: "the other nodes take over its work within a lease period (30 s)",
    times: 2,
    inject: nodeDies,
  },
  {
    name: "one of three nodes freezes (SIGSTOP) for longer than its lease",
    promise: "other nodes take over its work; when it continues, it settles nothing that it has lost",
    times: 2,
    inject: nodeFreezes,
  },
  {
    name: "one of two processes of a program dies",
    promise: "its leases end at once, the other process takes over its work, and it is started again",
    times: 10,
    inject: killProcesses,
  },
];

async function stopAtLoad(times: number, progress: Progress): Promise<Findings> {
  return await underLoad({ load: { senders: 8, pauseMs: 10 } }, async ({ testbed, injectFault, whenSettled }) => {
    const exits: (number | null)[] = [];
    const violations: string[] = [];
    let node = testbed.program;
    for (let i = 1; i <= times; i++) {
      await injectFault(
        async () => {
          exits.push(await node.stop());
          violations.push(...(await orphanedLeases(testbed)));
        },
        async () => {
          node = await testbed.startNode();
        },
      );
      progress(`${i} of ${times}`);
    }
    whenSettled(async () => [...violations, ...wrongExits(exits), ...(await doubts(testbed))]);
  });
}

async function rollingRestart(times: number, progress: Progress): Promise<Findings> {
  return await onCluster((run) => restartInTurn(run, times, progress));
}

/** Restarts each node in turn, `times` times, while stream readers stay connected. Checks at once for doubts and second copies,
 * which only a later kill may cause. */
export async function restartInTurn(
  run: FaultRun<Cluster>,
  times: number,
  progress: Progress = () => {},
): Promise<void> {
  const { testbed, injectFault, whenSettled, cleanUp } = run;
  const target = { url: () => testbed.nextUrl(), key: testbed.program.key };
  const readers = Array.from({ length: 3 }, () => startReader(target, { messages: 200 }));
  cleanUp(() => Promise.all(readers.map((reader) => reader.stop())));
  const exits: (number | null)[] = [];
  const violations: string[] = [];
  for (let i = 1; i <= times; i++) {
    for (const name of nodeNames) {
      await injectFault(
        async () => {
          exits.push(await testbed.node(name).stop());
          violations.push(...(await orphanedLeases(testbed)));
        },
        () => testbed.restart(name),
      );
      progress(`${i} of ${times}, node ${name}`);
    }
  }
  await untilSettledSoFar(testbed);
  violations.push(...wrongExits(exits), ...(await doubts(testbed)), ...secondCopies(testbed));
  whenSettled(async () => {
    const log = (await testbed.events()).map(({ cursor, event }) => ({ number: cursor, id: event.id }));
    await until("the readers at the tail", () => readers.every(({ seen }) => seen.length >= log.length)).catch(
      () => {},
    );
    await Promise.all(readers.map((reader) => reader.stop()));
    const whole = JSON.stringify(log);
    const other = readers.filter(({ seen }) => JSON.stringify(seen) !== whole).length;
    const incomplete = other > 0 ? [`${other} stream readers did not get exactly the log`] : [];
    return [...incomplete, ...readers.flatMap(({ wrong }) => wrong), ...violations];
  });
}

async function nodeDies(times: number, progress: Progress): Promise<Findings> {
  const tookMs: number[] = [];
  const found = await onCluster(async (run) => {
    for (let i = 1; i <= times; i++) {
      tookMs.push(await killNode(run, (["b", "c"] as const)[i % 2]!));
      progress(`${i} of ${times}`);
    }
  });
  return { ...found, note: `other nodes took over its work after at most ${worst(tookMs)} s` };
}

async function nodeFreezes(times: number, progress: Progress): Promise<Findings> {
  const tookMs: number[] = [];
  const found = await onCluster(async (run) => {
    for (let i = 1; i <= times; i++) {
      tookMs.push(await freezeNode(run, "c"));
      progress(`${i} of ${times}`);
    }
  });
  return { ...found, note: `other nodes took over its work after at most ${worst(tookMs)} s` };
}

export function onCluster(work: (run: FaultRun<Cluster>) => Promise<void>): Promise<Findings> {
  return underLoad<Cluster>({ start: startCluster, load: { pauseMs: 80 } }, work);
}

/** `hurry` moves the node's heartbeat into the past instead of waiting until it expires. */
type Hurry = { hurry?: boolean };

/** Kills a node that has leased work. Returns the milliseconds until other nodes took over the work. */
export async function killNode(run: FaultRun<Cluster>, name: NodeName, { hurry = false }: Hurry = {}): Promise<number> {
  const { testbed, injectFault } = run;
  let tookMs = 0;
  await untilLeased(testbed, name);
  await injectFault(
    () => testbed.node(name).kill(),
    async () => {
      tookMs = await untilTakenOver(testbed, name, hurry);
      await testbed.restart(name);
    },
  );
  return tookMs;
}

/** Freezes a node that has leased work (SIGSTOP) until other nodes took over the work. Returns the milliseconds until then. */
export async function freezeNode(
  run: FaultRun<Cluster>,
  name: NodeName,
  { hurry = false }: Hurry = {},
): Promise<number> {
  const { testbed, load, injectFault } = run;
  const { pid } = testbed.node(name);
  let tookMs = 0;
  await untilLeased(testbed, name);
  try {
    await injectFault(
      async () => void process.kill(pid, "SIGSTOP"),
      async () => {
        tookMs = await untilTakenOver(testbed, name, hurry);
      },
    );
  } finally {
    process.kill(pid, "SIGCONT");
  }
  const alive = () =>
    testbed.database.sql`select 1 from workers where pid = ${pid} and seen_at > now() - interval '3 seconds'`;
  await until("a heartbeat", async () => (await alive()).length > 0);
  await load.untilDelivering();
  return tookMs;
}

/** Slows down the receiver until the node has leased some work. Returns the number of leased recipients. */
async function untilLeased(testbed: Cluster, name: NodeName): Promise<number> {
  testbed.sink.script = ({ verb }) => (verb === "dot" ? { reply: "250 2.0.0 Queued", dripMs: 30 } : undefined);
  try {
    return await until(
      "leased work",
      async () => {
        const leased = await testbed.leasedBy(name);
        return leased >= 3 ? leased : undefined;
      },
      { everyMs: 10 },
    );
  } finally {
    testbed.sink.script = () => undefined;
  }
}

async function untilTakenOver(testbed: Cluster, name: NodeName, hurry: boolean): Promise<number> {
  const since = performance.now();
  if (hurry) await testbed.expireHeartbeat(name);
  await until("other nodes to take over its work", async () => (await testbed.leasedBy(name)) === 0);
  return performance.now() - since;
}

const worst = (times: readonly number[]) => (Math.max(...times) / 1000).toFixed(1);

async function orphanedLeases(testbed: Testbed): Promise<string[]> {
  const rows = await testbed.database.sql`select 1 from recipients r where r.lease is not null
    and status in ('queued', 'delayed') and not exists (select 1 from workers w where w.id = r.lease >> 32)`;
  return rows.length > 0 ? [`${rows.length} leases belong to a stopped node`] : [];
}

async function doubts(testbed: Testbed): Promise<string[]> {
  const rows = await testbed.database.sql`select 1 from recipients where in_doubt`;
  return rows.length > 0 ? [`${rows.length} recipients are in doubt although nothing died`] : [];
}

/** Waits until all mail that has been accepted so far is settled. */
async function untilSettledSoFar(testbed: Testbed): Promise<void> {
  const { sql } = testbed.database;
  const open = await sql<
    { id: string }[]
  >`select distinct email_id as id from recipients where status in ('queued', 'delayed')`;
  const ids = open.map(({ id }) => id);
  const unsettled = () =>
    sql`select 1 from recipients where status in ('queued', 'delayed') and email_id = any (${ids}::uuid[]) limit 1`;
  await until("accepted mail to be settled", async () => (await unsettled()).length === 0);
}

function secondCopies(testbed: Testbed): string[] {
  const twice = [...copiesByAddress(testbed)].filter(([, { whole }]) => whole > 1);
  return twice.length > 0 ? [`${twice.length} recipients got a second copy although nothing died`] : [];
}

const wrongExits = (exits: readonly (number | null)[]) =>
  exits.filter((code) => code !== 0).map((code) => `a stopped node exited with code ${code}`);
