/** Nodes that stop, die or stand still while others go on: two of the same kind, and three that share the roles. */
import { type Cluster, type NodeName, nodeNames, startCluster } from "../harness/cluster.ts";
import { copiesByAddress } from "../harness/ledger.ts";
import { startReader } from "../harness/stream-readers.ts";
import { type Findings, type Say, type Stage, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import type { World } from "../harness/world.ts";
import type { Fault } from "./fault.ts";

export const nodes: Fault[] = [
  {
    name: "SIGTERM at full load",
    promise: "no new leases, work in hand is settled or given back within the limit, nothing is in doubt",
    times: 5,
    inject: stopAtLoad,
  },
  {
    name: "rolling restart of three nodes with split roles",
    promise: "the same, and streams resume at another node",
    times: 3,
    inject: rollingRestart,
  },
  {
    name: "one of three nodes dies",
    promise: "the others take its work over within a lease period (30 s)",
    times: 2,
    inject: nodeDies,
  },
  {
    name: "one of three nodes stands still (SIGSTOP) for longer than its lease",
    promise: "its work is taken over, and when it goes on it settles nothing that it has lost",
    times: 2,
    inject: nodeFreezes,
  },
];

async function stopAtLoad(times: number, say: Say): Promise<Findings> {
  return await underLoad({ load: { senders: 8, pauseMs: 10 } }, async ({ world, strike, atRest }) => {
    const exits: (number | null)[] = [];
    const left: string[] = [];
    let node = world.program;
    for (let i = 1; i <= times; i++) {
      await strike(
        async () => {
          exits.push(await node.stop());
          left.push(...(await leasesOfNobody(world)));
        },
        async () => {
          node = await world.startNode();
        },
      );
      say(`${i} of ${times}`);
    }
    atRest(async () => [...left, ...wrongExits(exits), ...(await doubts(world))]);
  });
}

async function rollingRestart(times: number, say: Say): Promise<Findings> {
  return await onCluster((stage) => restartInTurn(stage, times, say));
}

/** Each node once, `times` over, with readers that stay until the end. What nothing but a death may bring is looked at before one comes. */
export async function restartInTurn(stage: Stage<Cluster>, times: number, say: Say = () => {}): Promise<void> {
  const { world, strike, atRest, atEnd } = stage;
  const target = { url: () => world.nextUrl(), key: world.program.key };
  const readers = Array.from({ length: 3 }, () => startReader(target, { messages: 200 }));
  atEnd(() => Promise.all(readers.map((reader) => reader.stop())));
  const exits: (number | null)[] = [];
  const left: string[] = [];
  for (let i = 1; i <= times; i++) {
    for (const name of nodeNames) {
      await strike(
        async () => {
          exits.push(await world.node(name).stop());
          left.push(...(await leasesOfNobody(world)));
        },
        () => world.restart(name),
      );
      say(`${i} of ${times}, node ${name}`);
    }
  }
  await untilSettledSoFar(world);
  left.push(...wrongExits(exits), ...(await doubts(world)), ...secondCopies(world));
  atRest(async () => {
    const log = (await world.events()).map(({ cursor, event }) => ({ number: cursor, id: event.id }));
    await until("the readers at the tail", () => readers.every(({ seen }) => seen.length >= log.length)).catch(
      () => {},
    );
    await Promise.all(readers.map((reader) => reader.stop()));
    const whole = JSON.stringify(log);
    const other = readers.filter(({ seen }) => JSON.stringify(seen) !== whole).length;
    const told = other > 0 ? [`${other} stream readers saw something else than the log`] : [];
    return [...told, ...readers.flatMap(({ wrong }) => wrong), ...left];
  });
}

async function nodeDies(times: number, say: Say): Promise<Findings> {
  const tookMs: number[] = [];
  const found = await onCluster(async (stage) => {
    for (let i = 1; i <= times; i++) {
      tookMs.push(await killNode(stage, (["b", "c"] as const)[i % 2]!));
      say(`${i} of ${times}`);
    }
  });
  return { ...found, note: `its work was taken over after ${worst(tookMs)} s at most` };
}

async function nodeFreezes(times: number, say: Say): Promise<Findings> {
  const tookMs: number[] = [];
  const found = await onCluster(async (stage) => {
    for (let i = 1; i <= times; i++) {
      tookMs.push(await freezeNode(stage, "c"));
      say(`${i} of ${times}`);
    }
  });
  return { ...found, note: `its work was taken over after ${worst(tookMs)} s at most` };
}

export function onCluster(work: (stage: Stage<Cluster>) => Promise<void>): Promise<Findings> {
  return underLoad<Cluster>({ start: startCluster, load: { pauseMs: 80 } }, work);
}

/** In a hurry, nobody waits until the silence of a node is noticed: its last sign of life is moved back. */
type Hurry = { hurry?: boolean };

/** kill -9 of a node with work in hand; gives the milliseconds until others had it. */
export async function killNode(stage: Stage<Cluster>, name: NodeName, { hurry = false }: Hurry = {}): Promise<number> {
  const { world, strike } = stage;
  let tookMs = 0;
  await untilInHand(world, name);
  await strike(
    () => world.node(name).kill(),
    async () => {
      tookMs = await untilTakenOver(world, name, hurry);
      await world.restart(name);
    },
  );
  return tookMs;
}

/** SIGSTOP of a node with work in hand, SIGCONT when others have it; gives the milliseconds until then. */
export async function freezeNode(
  stage: Stage<Cluster>,
  name: NodeName,
  { hurry = false }: Hurry = {},
): Promise<number> {
  const { world, load, strike } = stage;
  const { pid } = world.node(name);
  let tookMs = 0;
  await untilInHand(world, name);
  try {
    await strike(
      async () => void process.kill(pid, "SIGSTOP"),
      async () => {
        tookMs = await untilTakenOver(world, name, hurry);
      },
    );
  } finally {
    process.kill(pid, "SIGCONT");
  }
  const alive = () =>
    world.database.sql`select 1 from workers where pid = ${pid} and seen_at > now() - interval '3 seconds'`;
  await until("a sign of life", async () => (await alive()).length > 0);
  await load.untilDelivering();
  return tookMs;
}

/** Slows the receiver down until the node has some work in hand, and gives how much. */
async function untilInHand(world: Cluster, name: NodeName): Promise<number> {
  world.sink.script = ({ verb }) => (verb === "dot" ? { reply: "250 2.0.0 Queued", dripMs: 30 } : undefined);
  try {
    return await until(
      "work in its hands",
      async () => {
        const leased = await world.leasedBy(name);
        return leased >= 3 ? leased : undefined;
      },
      { everyMs: 10 },
    );
  } finally {
    world.sink.script = () => undefined;
  }
}

async function untilTakenOver(world: Cluster, name: NodeName, hurry: boolean): Promise<number> {
  const since = performance.now();
  if (hurry) await world.passDeadline(name);
  await until("its work to be taken over", async () => (await world.leasedBy(name)) === 0);
  return performance.now() - since;
}

const worst = (times: readonly number[]) => (Math.max(...times) / 1000).toFixed(1);

async function leasesOfNobody(world: World): Promise<string[]> {
  const rows = await world.database.sql`select 1 from recipients r where r.lease is not null
    and status in ('queued', 'delayed') and not exists (select 1 from workers w where w.id = r.lease >> 32)`;
  return rows.length > 0 ? [`${rows.length} leases of a node that has stopped`] : [];
}

async function doubts(world: World): Promise<string[]> {
  const rows = await world.database.sql`select 1 from recipients where in_doubt`;
  return rows.length > 0 ? [`${rows.length} recipients are in doubt although nothing died`] : [];
}

/** Whatever was accepted until now has its outcome. */
async function untilSettledSoFar(world: World): Promise<void> {
  const { sql } = world.database;
  const open = await sql<
    { id: string }[]
  >`select distinct email_id as id from recipients where status in ('queued', 'delayed')`;
  const ids = open.map(({ id }) => id);
  const left = () =>
    sql`select 1 from recipients where status in ('queued', 'delayed') and email_id = any (${ids}::uuid[]) limit 1`;
  await until("what was accepted to be settled", async () => (await left()).length === 0);
}

function secondCopies(world: World): string[] {
  const twice = [...copiesByAddress(world)].filter(([, { whole }]) => whole > 1);
  return twice.length > 0 ? [`${twice.length} recipients got a second copy although nothing died`] : [];
}

const wrongExits = (exits: readonly (number | null)[]) =>
  exits.filter((code) => code !== 0).map((code) => `a node that was told to stop ended with ${code}`);
