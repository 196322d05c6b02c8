/** Repeats work of a long command while the object storage does not serve for a while. Used by posthorn content move. */
import { setTimeout as delay } from "node:timers/promises";
import type { ContentStore } from "./content-store.ts";
import { StoreError, type StoreOutageKind, storeOutages } from "./store-error.ts";

export type Patience = <T>(work: () => Promise<T>) => Promise<T>;

export type PatienceOptions = {
  contents: Pick<ContentStore, "check">;
  signal: AbortSignal;
  /** Called before each pause, with the state of the store. */
  onWait(state: string): void;
  /** From the first failure of the work. */
  forMs?: number;
  /** Before the second try. It doubles up to half a minute. */
  pauseMs?: number;
};

/** Others need the operator. */
const transient: ReadonlySet<StoreOutageKind> = new Set(["unreachable", "timeout", "busy"]);
const longestPauseMs = 30_000;
export const patienceMinutes = 5;

export function createPatience({ contents, signal, onWait, ...options }: PatienceOptions): Patience {
  const { forMs = patienceMinutes * 60_000, pauseMs: firstPauseMs = 1_000 } = options;
  return async (work) => {
    let untilMs: number | undefined;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        return await work();
      } catch (error) {
        untilMs ??= performance.now() + forMs;
        const isOver = performance.now() + pauseMs > untilMs;
        if (!(error instanceof StoreError) || !transient.has(error.kind) || isOver) throw error;
        onWait(storeOutages[error.kind].state);
        await delay(pauseMs, undefined, { signal });
        // Otherwise the next try fails with the last known state.
        await contents.check();
      }
    }
  };
}
