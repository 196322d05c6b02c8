/** The steps of an email's way at which the program is killed: each is held from outside, by a database lock or by the sink, until enough work lies there. */

import { silentLog } from "../../src/ops/log.ts";
import { openDb, type Sql } from "../../src/store/db.ts";
import type { Load } from "./ledger.ts";
import type { RunningProgram } from "./program.ts";
import type { Action } from "./sink.ts";
import { type Findings, type Say, underLoad } from "./under-load.ts";
import { until } from "./wait.ts";
import type { World } from "./world.ts";

/** Begins to hold; resolves when work is held there. What it returns is called when the program is dead. */
type Hold = (world: World, load: Load) => Promise<() => Promise<void>>;

const everywhereAtSink = "after the lease, in DATA and after the final dot";

const holds: Record<string, Hold> = {
  /** The statement reaches the disk, its answer nobody: the client asks again under its key. */
  "before the answer to an accept that is committed": async (world) => {
    const lock = await lockTable(world, "emails", "share");
    await untilBlocked(world, "emails");
    return lock.release;
  },
  "before the accept is committed": async (world) => {
    const lock = await lockTable(world, "emails", "share");
    await untilBlocked(world, "emails");
    return async () => {
      await endSessions(world);
      await lock.release();
    };
  },
  "after the accept, before the lease": async (world, load) => {
    const lock = await lockTable(world, "workers", "access exclusive");
    await untilBlocked(world, "workers", "AccessShareLock");
    await load.untilAcknowledged(5);
    return async () => {
      await endSessions(world);
      await lock.release();
    };
  },
  /** The database leases for a program that is no more. */
  "before the answer to a lease that is committed": async (world) => {
    const lock = await lockTable(world, "workers", "access exclusive");
    await untilBlocked(world, "workers", "AccessShareLock");
    return lock.release;
  },
  "after the lease": (world) => atSink(world, ["connect"]),
  "in DATA": (world) => atSink(world, ["data"]),
  "after the final dot": (world) => atSink(world, ["dot"]),
  /** All three at once, on connections of their own. */
  [everywhereAtSink]: (world) => atSink(world, ["connect", "data", "dot"]),
  "after the 250, before the settle": async (world) => {
    const lock = await lockTable(world, "event_counters", "exclusive");
    const { accepted } = world.sink;
    await untilBlocked(world, "event_counters");
    await world.sink.until((sink) => sink.accepted > accepted + 3);
    return async () => {
      await endSessions(world);
      await lock.release();
    };
  },
  "after the settle": async (world) => {
    const settled = async () => (await world.database.sql`select 1 from events`).length;
    const before = await settled();
    await until("some settled recipients", async () => (await settled()) > before + 5);
    return async () => {};
  },
};

export const killPoints = Object.keys(holds).filter((point) => point !== everywhereAtSink);

/** Every point once, with those in company that work can lie at in the same moment: one kill strikes them all. */
export const killsTogether: readonly (readonly string[])[] = [
  ["before the answer to a lease that is committed", "before the answer to an accept that is committed"],
  ["after the accept, before the lease", "before the accept is committed"],
  [everywhereAtSink],
  ["after the 250, before the settle"],
  ["after the settle"],
];

/** Kills the program `times` over when work lies at each of these points, under load, with a successor each time; gives what was found. */
export async function killAt(points: readonly string[], times: number, say: Say = () => {}): Promise<Findings> {
  return await underLoad({ load: { pauseMs: 120 } }, async ({ world, load, strike }) => {
    let node = world.program;
    for (let i = 1; i <= times; i++) {
      const letGo: (() => Promise<void>)[] = [];
      for (const point of points) letGo.push(await holds[point]!(world, load));
      await strike(
        () => node.kill(),
        async () => {
          for (const release of letGo) await release();
          world.sink.script = () => undefined;
          await passDeadline(world, node);
          node = await world.startNode();
        },
      );
      say(`${i} of ${times}`);
    }
  });
}

/** As if the time had passed after which a silent worker is taken for dead. */
export async function passDeadline(world: World, node: RunningProgram): Promise<void> {
  await world.database.sql`update workers set seen_at = seen_at - interval '1 minute' where pid = ${node.pid}`;
}

const heldBy: Record<string, Action> = {
  connect: "silence",
  data: { reply: "354 Go ahead", after: "pause" },
  dot: "silence",
};

/** Holds three messages, or two at each of several steps: every connection is for the step at which the fewest are held. */
async function atSink(world: World, verbs: readonly string[]): Promise<() => Promise<void>> {
  const held = new Map(verbs.map((verb) => [verb, new Set<number>()]));
  const meantFor = new Map<number, string>();
  const meant = (verb: string) => [...meantFor.values()].filter((one) => one === verb).length;
  // A node that has just started tries each receiver with one message, and with more once it has answered.
  const { accepted } = world.sink;
  await world.sink.until((sink) => sink.accepted > accepted + 5);
  // Warm sessions are past some of the points.
  world.sink.hangUp();
  world.sink.script = ({ verb, connection }) => {
    const fewest = verbs.toSorted((a, b) => meant(a) - meant(b))[0]!;
    if (!meantFor.has(connection)) meantFor.set(connection, fewest);
    if (meantFor.get(connection) !== verb) return undefined;
    held.get(verb)!.add(connection);
    return heldBy[verb];
  };
  const enough = verbs.length > 1 ? 2 : 3;
  await world.sink.until(() => [...held.values()].every(({ size }) => size >= enough));
  return async () => world.sink.release();
}

type Lock = { release(): Promise<void> };

/** Holds a table in a session of its own, which the program has to wait for. */
export async function lockTable(world: World, table: string, mode: string): Promise<Lock> {
  const sql = openDb({ url: world.database.url, pool: 1, log: silentLog(), name: "lock" });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let held = () => {};
  const isHeld = new Promise<void>((resolve) => {
    held = resolve;
  });
  const work = sql.begin(async (tx: Sql) => {
    await tx.unsafe(`lock table ${table} in ${mode} mode`);
    held();
    await released;
  });
  await Promise.race([isHeld, work]);
  return {
    async release() {
      release();
      await work;
      await sql.end();
    },
  };
}

/** A lease reads the workers, which a heartbeat writes: the mode of the lock tells one from the other. */
export async function untilBlocked(world: World, table: string, mode?: string): Promise<void> {
  await until(`a statement of the program that waits for ${table}`, async () => {
    const rows = await world.database.sql`select 1 from pg_locks where not granted and relation = ${table}::regclass
      and mode = coalesce(${mode ?? null}, mode)`;
    return rows.length > 0;
  });
}

/** The server notices that its client has died: what it had not committed is undone. */
async function endSessions(world: World): Promise<void> {
  const sessions = () => world.database.sql`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'posthorn' and datname = current_database()`;
  await until("the dead program's sessions to end", async () => (await sessions()).length === 0);
}
