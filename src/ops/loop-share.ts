/** Shares the event loop between short calls and long background work of many owners: the work asks for a turn before each step, steps run
 * in short slices, and sockets and timers are served between two slices. Event streams use it (http/dispatch.ts, events/catch-up.ts). */
import { createRoundRobin } from "./round-robin.ts";

export type LoopShare = {
  /**
   * Resolves when the caller may run its next step, which it runs without waiting for anything. Owners take turns; urgent steps go first.
   */
  turn(owner: string, options?: { urgent?: boolean }): Promise<void>;
  /** Counts a short call until the returned function is called. While there are any, the steps have at most half of the event loop. */
  beginShortCall(): () => void;
};

/** Steps run for this long, then the event loop serves sockets and timers. A call waits for about one slice at each of its own steps. */
const sliceMs = 1;

export function createLoopShare(): LoopShare {
  let shortCalls = 0;
  const urgent = createRoundRobin<() => void>();
  const ordinary = createRoundRobin<() => void>();
  let sliceStartedAt = 0;
  /** Undefined while no slice is running or planned. */
  let state: "in slice" | "between slices" | undefined;

  function startSlice(): void {
    sliceStartedAt = performance.now();
    state = "in slice";
    step();
  }

  function step(): void {
    const usedMs = performance.now() - sliceStartedAt;
    const grant = usedMs < sliceMs ? (urgent.next() ?? ordinary.next()) : undefined;
    if (grant) {
      grant();
      // A step is a chain of promises up to the write. A tick that is queued from a microtask runs when that chain has ended.
      queueMicrotask(() => process.nextTick(step));
    } else if (urgent.size() + ordinary.size() === 0) {
      state = undefined;
    } else {
      state = "between slices";
      // Urgent steps do not pause: they are the live events of readers that have caught up.
      if (shortCalls > 0 && urgent.size() === 0) setTimeout(startSlice, Math.max(1, usedMs));
      else setImmediate(startSlice);
    }
  }

  return {
    turn(owner, options = {}) {
      return new Promise((resolve) => {
        (options.urgent ? urgent : ordinary).add(owner, resolve);
        if (state === undefined) startSlice();
      });
    },
    beginShortCall() {
      shortCalls += 1;
      let ended = false;
      return () => {
        if (!ended) shortCalls -= 1;
        ended = true;
      };
    },
  };
}
