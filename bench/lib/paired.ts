/** Measures the same work on two stores in turn, so that a change of the machine's load affects both. */
import { percentiles } from "./latency.ts";

export type Pair<T> = { young: T; grown: T };

/** A connection plans a statement six times before it keeps a plan, and the program has several. */
const warmUps = 20;

/** Median times in ms. The store that is first changes with each turn. `work` returns its own time if not all of it counts. */
export async function medians<T>(
  pair: Pair<T>,
  calls: number,
  work: (store: T, turn: number) => Promise<unknown>,
): Promise<Pair<number>> {
  const took: Pair<number[]> = { young: [], grown: [] };
  for (let turn = -warmUps; turn < calls; turn++)
    for (const side of turn % 2 === 0 ? (["young", "grown"] as const) : (["grown", "young"] as const)) {
      const began = performance.now();
      const own = await work(pair[side], turn);
      if (turn >= 0) took[side].push(typeof own === "number" ? own : performance.now() - began);
    }
  return { young: percentiles(took.young).p50, grown: percentiles(took.grown).p50 };
}
