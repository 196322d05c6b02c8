/** A fuzz target: where its inputs come from, and what is done with one. It throws when something must not be. */
import type fc from "fast-check";

export type Target = { name: string; inputs: fc.Arbitrary<unknown>; run(input: unknown): unknown; limitMs: number };

/** No single input may cost more of a processor; a parser in a thread of its own may be given more. */
const limitMs = 100;

export function target<T>(
  name: string,
  inputs: fc.Arbitrary<T>,
  run: (input: T) => unknown,
  options: { limitMs?: number } = {},
): Target {
  return { name, inputs, run: run as (input: unknown) => unknown, limitMs, ...options };
}
