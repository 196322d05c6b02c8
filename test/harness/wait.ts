/** Waiting for a condition with a deadline: the only kind of waiting a test does. */
import { setTimeout as delay } from "node:timers/promises";

/** Polls until `look` gives something other than undefined, null or false; fails with what was awaited. */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  options: { withinMs?: number; everyMs?: number } = {},
): Promise<NonNullable<T>> {
  const { withinMs = 15_000, everyMs = 25 } = options;
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
    await delay(everyMs);
  }
}
