/** Keeps one of the processes running: starts it, starts it again after an unexpected end, and replaces it. Created by supervisor.ts. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../ops/log.ts";
import type { ProcessState } from "../readiness.ts";
import type { Started } from "./messages.ts";
import { causeOf, nextStart } from "./restart-delay.ts";
import type { End, Run } from "./run.ts";

export type SlotDeps = {
  slot: number;
  log: Log;
  /** Starts a process for this slot. */
  newRun(onEnd: (run: Run, end: End) => void): Run;
  /** How long a stopping process may take. */
  stopLimitMs: number;
  onRestart(): void;
};

export type Slot = ReturnType<typeof createSlot>;

export function createSlot({ slot, log, newRun, stopLimitMs, onRestart }: SlotDeps) {
  let current: Run | undefined;
  /** A replacement that is starting, and the process that it replaces. */
  let [next, old]: (Run | undefined)[] = [];
  let requiredRun: Run | undefined;
  let restarts = 0;
  let earlyEnds = 0;
  const stopping = new AbortController();
  let waiting = new AbortController();

  const runs = () => [current, next, old].filter((run) => run !== undefined);

  function start(): Run {
    current = newRun(onEnd);
    return current;
  }

  function onEnd(run: Run, end: End): void {
    if (run === next) next = undefined;
    if (run === old) old = undefined;
    if (run !== current) return;
    current = undefined;
    if (stopping.signal.aborted || (run === requiredRun && run.servingSinceMs() === undefined)) return;
    restarts += 1;
    onRestart();
    const sinceMs = run.servingSinceMs();
    const plan = nextStart({ servedMs: sinceMs && performance.now() - sinceMs, earlyEnds });
    earlyEnds = plan.earlyEnds;
    run.started.catch((error: Error) => log.error({ process: slot, reason: error.message }, "a process cannot start"));
    log.error(
      { process: slot, pid: run.pid, startsInMs: plan.delayMs },
      `a process ${causeOf(end)}; its work is taken over, and it is started again`,
    );
    void startAfter(plan.delayMs);
  }

  async function startAfter(delayMs: number): Promise<void> {
    waiting = new AbortController();
    const signal = AbortSignal.any([stopping.signal, waiting.signal]);
    if (delayMs > 0) await delay(delayMs, undefined, { signal }).catch(() => {});
    if (!stopping.signal.aborted && !current) start();
  }

  return {
    /** Starts the process. Rejects when it cannot start; one that is `required` is not started again then. */
    async first({ required }: { required: boolean }): Promise<Started> {
      const run = start();
      if (required) requiredRun = run;
      return await run.started;
    },

    /** Starts a new process, and stops the present one when the new one serves. Throws when the new one cannot start; then the present one stays. */
    async replace(): Promise<void> {
      if (!current) {
        waiting.abort();
        await startAfter(0);
        await current!.started;
        return;
      }
      const replacement = newRun(onEnd);
      next = replacement;
      await replacement.started;
      if (stopping.signal.aborted) return;
      old = current;
      current = replacement;
      next = undefined;
      await old?.stop(stopLimitMs, true);
    },

    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(runs().map((run) => run.stop(stopLimitMs, false)));
    },

    runs,

    /** The process, if it serves. */
    serving: () => (current?.servingSinceMs() !== undefined && !current.isStopping() ? current : undefined),

    state(ready: (run: Run) => boolean): ProcessState {
      const serves = current?.servingSinceMs() !== undefined;
      const state = !current ? "waiting to start" : current.isStopping() ? "stopping" : serves ? "running" : "starting";
      return { process: slot, pid: current?.pid, state, ready: current !== undefined && ready(current), restarts };
    },
  };
}
