/** Keeps this program's row in the workers table fresh, and its clock set to the database's. */
import { hostname } from "node:os";
import type { Log } from "../ops/log.ts";
import type { Clock } from "../store/clock.ts";
import type { Sql } from "../store/db.ts";
import { beat, forgetAllWorkers, forgetWorker, registerWorker } from "../store/workers.ts";

export type Heartbeat = {
  workerId(): number;
  /** A new id; leases under the old one are free when `done` is. For a worker that may hold leases it does not know of. */
  renew(done: Promise<unknown>): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

const everyMs = 5_000;

export type HeartbeatDeps = {
  sql: Sql;
  log: Log;
  clock: Clock;
  roles: string[];
  version: string;
  schemaVersion: number;
  /** The database is ours alone (the embedded one, under our lock): whoever was registered before is dead. */
  alone: boolean;
};

export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  let workerId = 0;
  /** Ids that are given up, but under which work is still in hand. */
  const retiring = new Set<number>();
  let timer: NodeJS.Timeout | undefined;
  const register = async () => {
    workerId = await registerWorker(deps.sql, {
      host: hostname(),
      pid: process.pid,
      roles: deps.roles,
      version: deps.version,
      schemaVersion: deps.schemaVersion,
    });
  };
  const once = async () => {
    try {
      const id = workerId;
      const { alive, nowMs } = await beat(deps.sql, id);
      deps.clock.set(nowMs);
      // Not where the id was given up meanwhile: the new one would never beat again.
      if (!alive && id === workerId) await register();
      for (const old of retiring) await beat(deps.sql, old);
    } catch (error) {
      deps.log.warn({ reason: (error as Error).message }, "heartbeat missed");
    }
  };
  return {
    workerId: () => workerId,
    async renew(done) {
      const old = workerId;
      await register();
      retiring.add(old);
      void done.then(async () => {
        retiring.delete(old);
        // One that cannot be forgotten now is dead by its silence soon.
        await forgetWorker(deps.sql, old).catch(() => {});
      });
    },
    async start() {
      if (deps.alone) await forgetAllWorkers(deps.sql);
      await register();
      await once();
      timer = setInterval(once, everyMs);
    },
    async stop() {
      clearInterval(timer);
      for (const id of [workerId, ...retiring]) await forgetWorker(deps.sql, id).catch(() => {});
    },
  };
}
