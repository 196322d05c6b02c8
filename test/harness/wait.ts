/** Waiting for a condition with a deadline: the only kind of waiting a test does. */
import { setTimeout as delay } from "node:timers/promises";

const firstPauseMs = 20;
const longestPauseMs = 150;

/** Polls until `look` gives something other than undefined, null or false; fails with what was awaited. Unless told how often, it
 * looks less and less often: what takes long is not worth the processor that many looks take from it. */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  options: { withinMs?: number; everyMs?: number } = {},
): Promise<NonNullable<T>> {
  const { withinMs = 15_000, everyMs } = options;
  let pauseMs = everyMs ?? firstPauseMs;
  const end = Date.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== null && found !== false) return found as NonNullable<T>;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end)
      throw new Error(`Waited ${withinMs} ms in vain for ${what}${last ? `: ${String(last)}` : ""}`);
    await delay(pauseMs);
    if (everyMs === undefined) pauseMs = Math.min(pauseMs * 1.25, longestPauseMs);
  }
}
