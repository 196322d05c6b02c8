/** Shares the event loop between short calls and long background work of many owners: the work asks for a turn before each step, steps run
 * in short slices, and sockets and timers are served between two slices. Used for event streams (http/dispatch.ts, events/catch-up.ts), large
 * bodies and answers (http/), and large messages that arrive (smtp/server/input.ts). */
import { createRoundRobin } from "./round-robin.ts";

export type LoopShare = {
  /**
   * Resolves when the caller may run its next step, which it runs without waiting for anything. Owners take turns, and so do urgent and ordinary steps.
   */
  turn(owner: string, options?: { urgent?: boolean }): Promise<void>;
  /** Counts a short call until the returned function is called. While there are any, the steps pause after each slice. */
  beginShortCall(): () => void;
};

/** Steps run for this long, then the event loop serves sockets and timers. A call waits for about one slice at each of its own steps. */
const sliceMs = 1;

/** With pauses as long as the slices, the steps have at most half of the event loop; with a factor of 3, a quarter. */
export function createLoopShare({ pauseFactor = 1 } = {}): LoopShare {
  const urgent = createRoundRobin<() => void>();
  const ordinary = createRoundRobin<() => void>();
  let shortCalls = 0;
  let inProgress = false;
  let sliceStartedAt = 0;
  let urgentIsNext = true;
  /** The time that ordinary steps have taken in this slice, and the end of the pause for it. */
  let ordinaryMs = 0;
  let ordinaryFrom = 0;

  function startSlice(): void {
    sliceStartedAt = performance.now();
    ordinaryMs = 0;
    step();
  }

  function step(): void {
    const startedAt = performance.now();
    const kind = startedAt - sliceStartedAt < sliceMs ? nextKind(startedAt) : undefined;
    if (!kind) return endSlice(startedAt);
    urgentIsNext = kind === ordinary;
    kind.next()!();
    // A step is a chain of promises up to the write. A tick that is queued from a microtask runs when that chain has ended.
    queueMicrotask(() =>
      process.nextTick(() => {
        if (kind === ordinary) ordinaryMs += performance.now() - startedAt;
        step();
      }),
    );
  }

  /** Both kinds take turns. Urgent steps do not pause: they are few, and a person may wait for them. */
  function nextKind(nowMs: number) {
    const isPausing = nowMs < ordinaryFrom;
    if (urgent.size() > 0 && (urgentIsNext || isPausing || ordinary.size() === 0)) return urgent;
    return ordinary.size() > 0 && !isPausing ? ordinary : undefined;
  }

  function endSlice(nowMs: number): void {
    inProgress = urgent.size() + ordinary.size() > 0;
    if (shortCalls > 0 && ordinaryMs > 0) ordinaryFrom = nowMs + pauseFactor * ordinaryMs;
    if (!inProgress) return;
    const pauseMs = urgent.size() > 0 ? 0 : ordinaryFrom - nowMs;
    if (pauseMs > 0) pause(pauseMs);
    else setImmediate(startSlice);
  }

  /** An urgent step ends the pause. */
  function pause(ms: number): void {
    const end = () => {
      clearTimeout(timer);
      endPause = undefined;
      startSlice();
    };
    const timer = setTimeout(end, ms);
    endPause = end;
  }
  let endPause: (() => void) | undefined;

  return {
    turn(owner, options = {}) {
      return new Promise((resolve) => {
        (options.urgent ? urgent : ordinary).add(owner, resolve);
        if (inProgress && !(options.urgent && endPause)) return;
        inProgress = true;
        if (endPause) endPause();
        else startSlice();
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
