/** Searches the store for lanes with open mail: on request, and about once a second. A search over 10,000 lanes takes half a second, so the
 * delivery loop, its caller, continues to lease meanwhile. */
import type { Lane } from "../emails/lane.ts";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway } from "../postgres/pool.ts";

export type FoundLane = Lane & { dueInMs: number };

export type LaneSearchDeps = {
  log: Log;
  /** At most `limit` lanes, the first of them after a lane. */
  find(limit: number, after: Lane | undefined): Promise<(FoundLane & { isSuspended: boolean })[]>;
  /** The lanes found, and those that were announced during the search, which it may have missed. */
  onFound(found: readonly FoundLane[], announced: readonly Lane[]): Promise<void>;
  onEnd(): void;
};

/** Wake-ups can be lost, so the store is searched this often without one. */
const pollMs = 1000;
/** A slow search is followed by a pause of this many times its duration. */
const pauseFactor = 2;
const lanesPerSearch = 10_000;

export function createLaneSearch(deps: LaneSearchDeps) {
  let requested = true;
  let nextAtMs = 0;
  /** Where the next search continues when there are more lanes than one search returns. */
  let continueAfter: Lane | undefined;
  let current: { done: Promise<void>; announced: Lane[] } | undefined;

  async function search(announced: Lane[]): Promise<void> {
    const beganMs = performance.now();
    try {
      const found = await deps.find(lanesPerSearch, continueAfter);
      continueAfter = found.length < lanesPerSearch ? undefined : found.at(-1);
      // Their mail waits, however much it is.
      const served = found.filter(({ isSuspended }) => !isSuspended);
      await deps.onFound(served, announced);
    } catch (error) {
      if (!isDatabaseAway(error)) deps.log.error({ err: error }, "the search for due mail failed and will be retried");
    } finally {
      const tookMs = performance.now() - beganMs;
      nextAtMs = performance.now() + Math.max(pollMs - tookMs, pauseFactor * tookMs);
      current = undefined;
      deps.onEnd();
    }
  }

  return {
    /** The next `startIfDue` starts a search. */
    request(): void {
      requested = true;
    },
    startIfDue(): void {
      if (current || (!requested && performance.now() < nextAtMs)) return;
      requested = false;
      const announced: Lane[] = [];
      current = { announced, done: Promise.resolve() };
      current.done = search(announced);
    },
    /** Lanes that a wake-up names. A search in progress may not see their mail. */
    note(lanes: readonly Lane[]): void {
      current?.announced.push(...lanes);
    },
    /** Milliseconds until `startIfDue` would start a search. */
    waitMs(): number {
      if (current) return pollMs;
      return requested ? 0 : nextAtMs - performance.now();
    },
    async idle(): Promise<void> {
      await current?.done;
    },
  };
}
