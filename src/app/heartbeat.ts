/** Renews this program's row in the workers table every five seconds, and sets the program's clock to the database's.
 * Created by assemble.ts for the program, and by assemble/webhooks.ts for the webhook role. */
import { hostname } from "node:os";
import type { Clock } from "../ops/clock.ts";
import type { Log } from "../ops/log.ts";
import type { Sql } from "../postgres/pool.ts";
import { beat, forgetAllWorkers, forgetWorker, registerWorker } from "../postgres/workers.ts";

export type Heartbeat = {
  workerId(): number;
  /** Takes a new worker id; leases under the old id become free after `done`. For a worker that may hold leases it does not know of. */
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
  /** Only this program uses the database (the embedded one, under its lock): every worker registered earlier is dead. */
  alone: boolean;
};

export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  let workerId = 0;
  /** Old ids with work still in progress. */
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
  const beatOnce = async () => {
    try {
      const id = workerId;
      const { alive, nowMs } = await beat(deps.sql, id);
      deps.clock.set(nowMs);
      // If renew() replaced the id meanwhile, registering again would orphan the new one.
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
        // If this fails, the row expires without its heartbeat.
        await forgetWorker(deps.sql, old).catch(() => {});
      });
    },
    async start() {
      if (deps.alone) await forgetAllWorkers(deps.sql);
      await register();
      await beatOnce();
      timer = setInterval(beatOnce, everyMs);
    },
    async stop() {
      clearInterval(timer);
      for (const id of [workerId, ...retiring]) await forgetWorker(deps.sql, id).catch(() => {});
    },
  };
}
