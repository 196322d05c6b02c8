/**
 * The core of the delivery loop and the webhook loop: takes leases, tracks running work, writes results until the database accepts
 * them, and shuts down. The caller decides what to lease and when.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import type { DatabaseHealth } from "./health.ts";
import { isDatabaseAway } from "./pool.ts";
import { makeLease, type Worker } from "./workers.ts";

export type LeaseLoopDeps = {
  log: Log;
  worker: Worker;
  health: Pick<DatabaseHealth, "onServerChange">;
  /** Names the loop in the log. */
  name: string;
  /** Leases due rows and starts the work on them. False when nothing was due, so the loop may wait. */
  turn(): Promise<boolean>;
  /** The longest wait until the next turn. */
  waitMs(): number;
  /** Called after a failed turn: the caller's view of the database may be out of date. */
  onFailure(): void;
  /** Called when a worker id that was replaced has no work left: nothing was done under its remaining leases. */
  onRetired?(workerId: number): Promise<void>;
};

const pauseAfterFailureMs = 500;
const shortestWaitMs = 5;
const retryWrite = { firstMs: 50, longestMs: 2000 };

export function createLeaseLoop(deps: LeaseLoopDeps) {
  const { log, worker, name } = deps;
  const stopping = new AbortController();
  const cut = new AbortController();
  const inProgress = new Set<Promise<void>>();
  const alarm = createAlarm();
  const leases = { taken: 0, unconfirmed: false };
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        if (leases.unconfirmed) await renewWorker();
        if (!(await deps.turn())) await alarm.wait(Math.max(shortestWaitMs, deps.waitMs()));
      } catch (error) {
        if (!isDatabaseAway(error)) log.error({ err: error }, `the ${name} loop failed; it continues`);
        // A database that was away may have been restored meanwhile.
        else leases.unconfirmed = true;
        await delay(pauseAfterFailureMs, undefined, { signal: stopping.signal }).catch(() => {});
        deps.onFailure();
      }
    }
  }

  /** A lease statement that failed may still have committed. Its rows become free when the worker id that leased them is gone. */
  async function renewWorker(): Promise<void> {
    const old = worker.workerId();
    // Before the renewal, so that a change of the server during it leads to another one.
    leases.unconfirmed = false;
    const done = Promise.allSettled(inProgress).then(async () => {
      if (!cut.signal.aborted) await deps.onRetired?.(old);
    });
    try {
      await worker.renew(done.catch(() => {}));
    } catch (error) {
      leases.unconfirmed = true;
      throw error;
    }
  }

  // A server that lost the results of finished work still has its leases.
  deps.health.onServerChange(() => {
    leases.unconfirmed = true;
    alarm.ring();
  });

  return {
    /** Aborts when the loop takes no new leases. */
    stopping: stopping.signal,
    /** Aborts when running work must end at once. */
    cut: cut.signal,

    start() {
      running = run();
    },

    /** Ends the current wait, or skips the next one. */
    wake: alarm.ring,

    /** Runs a lease statement with a new lease id. */
    async lease<T>(take: (lease: string) => Promise<T>): Promise<T> {
      try {
        return await take(makeLease(worker.workerId(), ++leases.taken));
      } catch (error) {
        leases.unconfirmed = true;
        throw error;
      }
    },

    /** Counts work as running until it ends, then calls `done`. */
    track(work: Promise<void>, done: () => void): void {
      const tracked = work.finally(() => {
        inProgress.delete(tracked);
        done();
      });
      inProgress.add(tracked);
    },

    /**
     * Runs work on leased rows. After an internal error the caller releases the rows only after a pause, so that the error does not
     * cause a busy loop over the same rows.
     */
    async attempt<T>(work: (cut: AbortSignal) => Promise<T>, about: Record<string, unknown>): Promise<T | undefined> {
      try {
        return await work(cut.signal);
      } catch (error) {
        if (!isDatabaseAway(error) && !cut.signal.aborted)
          log.error({ err: error, ...about }, `${name}: an attempt failed with an internal error; it will be repeated`);
        await delay(1000, undefined, { signal: stopping.signal }).catch(() => {});
        return undefined;
      }
    },

    /**
     * Retries a write until the database accepts it. Meanwhile the work keeps its slots, so a database that rejects results also
     * stops new work. When `cut` aborts first, the lease ends in doubt.
     */
    async persist(write: () => Promise<unknown>): Promise<void> {
      for (let waitMs = retryWrite.firstMs; ; waitMs = Math.min(waitMs * 2, retryWrite.longestMs)) {
        try {
          await write();
          return;
        } catch (error) {
          const { code, message } = error as Error & { code?: string };
          // Log only the code and the message: other fields of a database error can quote the row, which contains content.
          if (!isDatabaseAway(error))
            log.error({ code, reason: message }, `${name}: a result could not be written; the write will be retried`);
          if (cut.signal.aborted) return;
          await delay(waitMs, undefined, { signal: cut.signal }).catch(() => {});
        }
      }
    },

    /** Takes no new leases and waits for running work. After `limitMs` the work is aborted and its rows are released. */
    async stop(limitMs: number, beforeWaiting = async () => {}): Promise<void> {
      stopping.abort();
      alarm.ring();
      const timer = setTimeout(() => cut.abort(), limitMs);
      await running;
      // A search for due rows in the background may still start work.
      await beforeWaiting();
      await Promise.all(inProgress);
      clearTimeout(timer);
    },
  };
}

/** A wait that `ring` ends. A ring without a wait ends the next wait at once. */
function createAlarm() {
  let rung = false;
  let end = () => {};
  return {
    ring(): void {
      rung = true;
      end();
    },
    async wait(ms: number): Promise<void> {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        end = () => {
          clearTimeout(timer);
          resolve();
        };
        if (rung) end();
      });
      rung = false;
      end = () => {};
    },
  };
}
