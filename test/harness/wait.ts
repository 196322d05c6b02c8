/** Waits for a condition with a deadline. Tests wait in no other way. */
import { setTimeout as delay } from "node:timers/promises";

/**
 * The deadline of every wait. It only limits how long a failing test takes, because a passing test continues as soon as its
 * condition holds. It allows for a machine on which other programs leave the test a tenth of a core.
 */
export const patienceMs = 120_000;

const firstPauseMs = 20;
const longestPauseMs = 150;

/**
 * Polls until `poll` returns something other than undefined, null or false. Otherwise fails and names what it waited for. Polls less
 * and less often unless `everyMs` is given, because frequent polling takes CPU time from the work that the test waits for.
 */
export async function until<T>(
  what: string,
  poll: () => Promise<T> | T,
  options: { withinMs?: number; everyMs?: number } = {},
): Promise<NonNullable<T>> {
  const { withinMs = patienceMs, everyMs } = options;
  let pauseMs = everyMs ?? firstPauseMs;
  const end = performance.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const found = await poll();
      if (found !== undefined && found !== null && found !== false) return found as NonNullable<T>;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) throw new Error(`Waited ${withinMs} ms for ${what}${last ? `: ${String(last)}` : ""}`);
    await delay(pauseMs);
    if (everyMs === undefined) pauseMs = Math.min(pauseMs * 1.25, longestPauseMs);
  }
}
