/** Kills the program at each step of an email's processing. A database lock or the sink blocks the program at the step until
 * enough work has accumulated there; then the test sends SIGKILL. */

import { setTimeout as delay } from "node:timers/promises";
import { holdLock, type Lock } from "./held-lock.ts";
import type { Load, Send } from "./ledger.ts";
import type { RunningProgram } from "./program.ts";
import type { Action } from "./sink-script.ts";
import { submitHalf } from "./submission.ts";
import type { Testbed } from "./testbed.ts";
import { type Findings, type Progress, underLoad } from "./under-load.ts";
import { until } from "./wait.ts";

/** Blocks the program at a step and resolves when work is waiting there. The returned function runs after the kill. */
type Hold = (testbed: Testbed, load: Load) => Promise<() => Promise<void>>;

export const anyMoment = "at any moment";
const whileSubmitted = "while a message arrives";
const everywhereAtSink = "after the lease, in DATA and after the final dot";

const holds: Record<string, Hold> = {
  /** The database commits, but the client gets no response and retries with the same idempotency key. */
  "before the answer to an accept that is committed": async (testbed) => {
    const commits = await holdCommits(testbed);
    await commits.untilBlocked("emails");
    return commits.release;
  },
  "before the accept is committed": async (testbed) => {
    const lock = await lockTable(testbed, "emails", "share");
    await untilBlocked(testbed, "emails");
    return async () => {
      await endSessions(testbed);
      await lock.release();
    };
  },
  "after the accept, before the lease": async (testbed, load) => {
    const lock = await lockTable(testbed, "workers", "access exclusive");
    await untilBlocked(testbed, "workers", "AccessShareLock");
    await load.untilAcknowledged(5);
    return async () => {
      await endSessions(testbed);
      await lock.release();
    };
  },
  /** The database commits the lease after the program has died. */
  "before the answer to a lease that is committed": async (testbed) => {
    const lock = await lockTable(testbed, "workers", "access exclusive");
    await untilBlocked(testbed, "workers", "AccessShareLock");
    return lock.release;
  },
  "after the lease": (testbed) => atSink(testbed, ["connect"]),
  "in DATA": (testbed) => atSink(testbed, ["data"]),
  "after the final dot": (testbed) => atSink(testbed, ["dot"]),
  /** All three steps at once, on separate connections. */
  [everywhereAtSink]: (testbed) => atSink(testbed, ["connect", "data", "dot"]),
  "after the 250, before the settle": async (testbed) => {
    const lock = await lockTable(testbed, "event_counters", "exclusive");
    const { accepted } = testbed.sink;
    await untilBlocked(testbed, "event_counters");
    await testbed.sink.until((sink) => sink.accepted > accepted + 3);
    return async () => {
      await endSessions(testbed);
      await lock.release();
    };
  },
  /** Clients that never get an answer: nothing of their messages may be stored. */
  [whileSubmitted]: async (testbed, load) => {
    const sessions = await Promise.all([1, 2, 3].map(() => submitHalf(testbed)));
    await load.untilAcknowledged(3);
    return async () => {
      for (const session of sessions) session.destroy();
    };
  },
  /** Whatever the program is doing, after a time that differs from kill to kill. */
  [anyMoment]: async (_testbed, load) => {
    await load.untilAcknowledged(3 + Math.floor(Math.random() * 8));
    await delay(Math.random() * 100);
    return async () => {};
  },
  "after the settle": async (testbed) => {
    const settled = async () => (await testbed.database.sql`select 1 from events`).length;
    const before = await settled();
    await until("some settled recipients", async () => (await settled()) > before + 5);
    return async () => {};
  },
};

export const killPoints = Object.keys(holds).filter((point) => point !== everywhereAtSink && point !== whileSubmitted);

/** Every point once. Points at which work can wait at the same time share one kill. */
export const killGroups: readonly (readonly string[])[] = [
  ["before the answer to a lease that is committed", "before the answer to an accept that is committed"],
  ["after the accept, before the lease", "before the accept is committed"],
  [everywhereAtSink],
  ["after the 250, before the settle"],
  ["after the settle"],
];

/** The steps of mail that programs submit over SMTP, up to its acceptance. After that it is like other mail. */
export const submissionKillPoints = [
  whileSubmitted,
  "before the accept is committed",
  "before the answer to an accept that is committed",
  anyMoment,
];

export type KillOptions = {
  progress?: Progress;
  /** How the load sends. Default: over the API. */
  send?: (testbed: Testbed) => Send;
};

/** Under load, `times` times: waits until work is waiting at each of these points, kills the program, and starts a successor.
 * Returns the findings. */
export async function killAt(
  points: readonly string[],
  times: number,
  { progress, send }: KillOptions = {},
): Promise<Findings> {
  return await underLoad({ load: { pauseMs: 120 }, send }, async ({ testbed, load, injectFault }) => {
    let node = testbed.program;
    for (let i = 1; i <= times; i++) {
      const releases: (() => Promise<void>)[] = [];
      for (const point of points) releases.push(await holds[point]!(testbed, load));
      await injectFault(
        () => node.kill(),
        async () => {
          for (const release of releases) await release();
          testbed.sink.script = () => undefined;
          await expireHeartbeat(testbed, node);
          node = await testbed.restartNode(node);
        },
      );
      progress?.(`${i} of ${times}`);
    }
  });
}

/** Moves the heartbeat of a node into the past, so that other nodes treat it as dead. */
export async function expireHeartbeat(testbed: Testbed, node: RunningProgram): Promise<void> {
  await testbed.database.sql`update workers set beat_at = beat_at - interval '1 minute' where pid = ${node.pid}`;
}

const blockingAction: Record<string, Action> = {
  connect: "silence",
  data: { reply: "354 Go ahead", after: "pause" },
  dot: "silence",
};

/** Blocks three messages, or two at each of several steps. Each new connection is assigned to the step with the fewest. */
async function atSink(testbed: Testbed, verbs: readonly string[]): Promise<() => Promise<void>> {
  const blocked = new Map(verbs.map((verb) => [verb, new Set<number>()]));
  const stepOf = new Map<number, string>();
  const assigned = (verb: string) => [...stepOf.values()].filter((one) => one === verb).length;
  // A newly started node sends one message to each receiver, and more only after the receiver has answered.
  const { accepted } = testbed.sink;
  await testbed.sink.until((sink) => sink.accepted > accepted + 5);
  // Sessions that are already open have passed some of the steps.
  testbed.sink.hangUp();
  testbed.sink.script = ({ verb, connection }) => {
    const fewest = verbs.toSorted((a, b) => assigned(a) - assigned(b))[0]!;
    if (!stepOf.has(connection)) stepOf.set(connection, fewest);
    if (stepOf.get(connection) !== verb) return undefined;
    blocked.get(verb)!.add(connection);
    return blockingAction[verb];
  };
  const enough = verbs.length > 1 ? 2 : 3;
  await testbed.sink.until(() => [...blocked.values()].every(({ size }) => size >= enough));
  return async () => testbed.sink.release();
}

/** Locks a table in a separate session, so that the program's statements wait. */
export async function lockTable(testbed: Testbed, table: string, mode: string): Promise<Lock> {
  return await holdLock(testbed.database.url, `lock table ${table} in ${mode} mode`);
}

/** Waits until a transaction that has written to the table waits for its commit. */
type HeldCommits = Lock & { untilBlocked(table: string): Promise<void> };

/** Makes the last message of every write wait at its receipt, right before the commit. The server has got the whole message, so it
 * commits after the release even if the program is gone. */
export async function holdCommits(testbed: Testbed): Promise<HeldCommits> {
  const { sql } = testbed.database;
  await sql.unsafe(`create or replace function wait_for_test() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(${commitLock}); return new; end $$;
    create or replace trigger wait_for_test before insert on idempotency for each row
      when (new.request_hash = 'stored') execute function wait_for_test()`);
  const lock = await holdLock(testbed.database.url, `select pg_advisory_xact_lock(${commitLock})`);
  const untilBlocked = async (table: string) => {
    await until(`a commit of the program that waits after a write to ${table}`, async () => {
      const rows = await sql`select 1 from pg_locks waiting join pg_locks held using (pid)
        where not waiting.granted and waiting.locktype = 'advisory' and waiting.objid = ${commitLock}
          and held.granted and held.relation = ${table}::regclass and held.mode = 'RowExclusiveLock'`;
      return rows.length > 0;
    });
  };
  return { release: lock.release, untilBlocked };
}

const commitLock = 47110815;

/** Waits until a statement of the program waits for the table. `mode` distinguishes a lease, which reads `workers`, from a
 * heartbeat, which writes it. */
export async function untilBlocked(testbed: Testbed, table: string, mode?: string): Promise<void> {
  await until(`a statement of the program that waits for ${table}`, async () => {
    const rows = await testbed.database.sql`select 1 from pg_locks where not granted and relation = ${table}::regclass
      and mode = coalesce(${mode ?? null}, mode)`;
    return rows.length > 0;
  });
}

/** Ends the dead program's sessions, which rolls back their open transactions. */
export async function endSessions(testbed: Testbed): Promise<void> {
  const sessions = () => testbed.database.sql`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'posthorn' and datname = current_database()`;
  await until("the dead program's sessions to end", async () => (await sessions()).length === 0);
}
