/** The share of one holder in a limit that several holders use. The share adapts to the free amount, so a single holder can use most of the
 * limit, and the next one still finds something. */

export type Share = {
  limit: number;
  /** What all holders have together, including this one. */
  used: number;
  held: number;
  /** A holder may have this many times the free amount. With 1, a single holder gets a half, with 3 three quarters. */
  factor: number;
};

/** How much more the holder may take. At least 1 while something is free and the holder has nothing. */
export function leftFor({ limit, used, held, factor }: Share): number {
  const free = limit - used;
  if (free <= 0) return 0;
  if (factor === Number.POSITIVE_INFINITY) return free;
  // After taking x: held + x = factor × (free − x).
  const left = Math.floor((factor * free - held) / (1 + factor));
  return Math.max(left, held === 0 ? Math.min(1, free) : 0);
}
