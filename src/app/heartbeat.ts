/**
 * Every five seconds: advances service time, renews this program's row in the workers table and sets the program's clock. After a jump of
 * the database's clock it creates the partitions of the new time; until they exist, ids and events keep a time that has partitions.
 * Created by assemble.ts for the program, and by assemble/webhooks.ts for the webhook role.
 */
import { hostname } from "node:os";
import type { Clock } from "../ops/clock.ts";
import type { Log } from "../ops/log.ts";
import { ensurePartitions } from "../postgres/partitions.ts";
import type { Sql } from "../postgres/pool.ts";
import { type Beat, beat } from "../postgres/service-clock.ts";
import { forgetAllWorkers, forgetWorker, noteSecretKeys, registerWorker } from "../postgres/workers.ts";

export type Heartbeat = {
  workerId(): number;
  /** Takes a new worker id; leases under the old id become free after `done`. For a worker that may hold leases it does not know of. */
  renew(done: Promise<unknown>): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

const everyMs = 5_000;
/** Partitions exist for more than a day around the time for which they were ensured. */
const partitionsReachMs = 12 * 3_600_000;

export type HeartbeatDeps = {
  sql: Sql;
  log: Log;
  clock: Clock;
  roles: string[];
  version: string;
  schemaVersion: number;
  /** Only this program uses the database (the embedded one, under its lock): every worker registered earlier is dead. */
  alone: boolean;
  /** Identifies this run of a supervised process. */
  run?: string;
  /** The ids of the secrets that this program holds, the active one first. */
  secretKeys(): string[];
  /** Called after each beat. Must return at once. */
  onBeat?(beat: Beat): void;
};

export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  let workerId = 0;
  /** Old ids with work still in progress. */
  const retiring = new Set<number>();
  let timer: NodeJS.Timeout | undefined;
  const stopping = new AbortController();
  /** As the workers' rows have them. */
  let secretKeys: string[] = [];
  const register = async () => {
    const held = deps.secretKeys();
    workerId = await registerWorker(deps.sql, {
      host: hostname(),
      pid: process.pid,
      roles: deps.roles,
      version: deps.version,
      schemaVersion: deps.schemaVersion,
      secretKeys: held,
      run: deps.run,
    });
    secretKeys = held;
  };
  /** posthorn secret rotate waits until every program has reported the new secret. */
  const reportSecretKeys = async () => {
    const held = deps.secretKeys();
    if (held.join() === secretKeys.join()) return;
    await noteSecretKeys(deps.sql, [workerId, ...retiring], held);
    secretKeys = held;
  };
  /** The last beat that succeeded: its service time, and the monotonic time of its start. */
  let lastBeat: { startedMs: number; serviceMs: number } | undefined;
  const beatOnce = async () => {
    const id = workerId;
    const startedMs = performance.now();
    const observed = lastBeat && { ms: startedMs - lastBeat.startedMs, sinceServiceMs: lastBeat.serviceMs };
    const last = await beat(deps.sql, [id, ...retiring], observed);
    const { alive, stampMs, serviceMs, wallMs, partitionsMs } = last;
    lastBeat = { startedMs, serviceMs };
    deps.clock.set({ wallMs: stampMs, serviceMs }, performance.now() - startedMs);
    // If renew() replaced the id meanwhile, registering again would orphan the new one.
    if (!alive.includes(id) && id === workerId) await register();
    await reportSecretKeys();
    if (Math.abs(wallMs - partitionsMs) > partitionsReachMs) followJump();
    deps.onBeat?.(last);
  };
  const beatOrWarn = () =>
    beatOnce().catch((error: Error) => deps.log.warn({ reason: error.message }, "heartbeat missed"));
  /** Creating partitions can wait for a lock for as long as a dump runs, and beats must not wait. */
  let following: Promise<void> | undefined;
  const followJump = () => {
    following ??= ensurePartitions(deps.sql, { stop: stopping.signal })
      .then(() => deps.log.warn({}, "the database's clock has jumped; its partitions now exist"))
      .catch((error: Error) => {
        if (!stopping.signal.aborted)
          deps.log.warn({ err: error }, "cannot create partitions after a jump of the clock");
      })
      .finally(() => (following = undefined));
  };
  return {
    workerId: () => workerId,
    async renew(done) {
      const old = workerId;
      await register();
      retiring.add(old);
      void done.then(async () => {
        retiring.delete(old);
        // If this fails, the row expires without its heartbeat.
        await forgetWorker(deps.sql, old).catch(() => {});
      });
    },
    async start() {
      if (deps.alone) await forgetAllWorkers(deps.sql);
      await register();
      // Until the first beat, the program's clock shows the time of this machine: nothing may decide by it.
      await beatOnce();
      timer = setInterval(beatOrWarn, everyMs);
    },
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await following;
      for (const id of [workerId, ...retiring]) await forgetWorker(deps.sql, id).catch(() => {});
    },
  };
}
