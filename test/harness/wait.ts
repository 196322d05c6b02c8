/** Waiting for a condition with a deadline: the only kind of waiting a test does. */
import { setTimeout as delay } from "node:timers/promises";

/**
 * One deadline for every wait. It only bounds how long a failing test takes: a passing one goes on as soon as its condition holds. So it is
 * set for a machine on which other programs leave the test a tenth of a core.
 */
export const patienceMs = 120_000;

const firstPauseMs = 20;
const longestPauseMs = 150;

/**
 * Polls until `look` gives something other than undefined, null or false; fails with what was awaited. Polls less and less often unless
 * `everyMs` is given: frequent polling takes processor time from the work that the test waits for.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  options: { withinMs?: number; everyMs?: number } = {},
): Promise<NonNullable<T>> {
  const { withinMs = patienceMs, everyMs } = options;
  let pauseMs = everyMs ?? firstPauseMs;
  const end = performance.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== null && found !== false) return found as NonNullable<T>;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end)
      throw new Error(`Waited ${withinMs} ms in vain for ${what}${last ? `: ${String(last)}` : ""}`);
    await delay(pauseMs);
    if (everyMs === undefined) pauseMs = Math.min(pauseMs * 1.25, longestPauseMs);
  }
}
