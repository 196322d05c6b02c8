/**
 * Keeps scheduled mail at the wall time that its caller named. Wall time and service time move apart when the database's clock jumps and
 * while no program runs; then the due times are computed again. The heartbeat calls it after each beat.
 */
import type { Log } from "../ops/log.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Beat } from "../postgres/service-clock.ts";
import { positionBefore, recordLag, rescheduleSome, type ScheduledPosition } from "./store/scheduled.ts";

const toleranceMs = 1_000;
const batch = 1_000;
/** Beats before each pass. Later ones, because a statement that accepts mail may have read the old clocks, and commits up to a minute later. */
const beatsBefore = [0, 1, 2, 10];
const marginMs = 60_000;

export function createScheduled({ sql, log }: { sql: Sql; log: Log }) {
  let fromMs = Number.POSITIVE_INFINITY;
  let passesDone = beatsBefore.length;
  let beats = 0;
  let running: Promise<void> | undefined;
  let stopped = false;

  /** Mail scheduled before both the old and the new time was due under either, so a pass starts at the earlier one. */
  function note({ lagMs, scheduledLagMs, serviceMs, wallMs }: Beat): void {
    if (Math.abs(lagMs - scheduledLagMs) <= toleranceMs) return;
    fromMs = Math.min(fromMs, wallMs, serviceMs + scheduledLagMs);
    passesDone = 0;
    beats = 0;
  }

  async function pass({ lagMs }: Beat): Promise<void> {
    let next: ScheduledPosition | undefined = positionBefore(fromMs - marginMs);
    while (next && !stopped) next = await rescheduleSome(sql, next, batch);
    if (stopped) return;
    await recordLag(sql, lagMs);
    if (++passesDone === beatsBefore.length) fromMs = Number.POSITIVE_INFINITY;
  }

  return {
    /** Returns at once. At most one pass runs at a time. */
    onBeat(beat: Beat): void {
      note(beat);
      if (passesDone === beatsBefore.length || running || stopped || beats++ < beatsBefore[passesDone]!) return;
      beats = 0;
      running = pass(beat)
        .catch((error: Error) => log.warn({ err: error }, "cannot compute the due times of scheduled mail; will retry"))
        .finally(() => (running = undefined));
    },
    /** Resolves when no pass runs. */
    async idle(): Promise<void> {
      await running;
    },
    async stop(): Promise<void> {
      stopped = true;
      await running;
    },
  };
}
