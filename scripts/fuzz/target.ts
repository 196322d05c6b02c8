/** A fuzz target: the generator of its inputs, and a function that runs one input and throws if an invariant is broken. */
import type fc from "fast-check";

export type Target = { name: string; inputs: fc.Arbitrary<unknown>; run(input: unknown): unknown; limitMs: number };

/** CPU time that one input may use. A parser that runs in its own thread may be given more. */
const limitMs = 100;

export function target<T>(
  name: string,
  inputs: fc.Arbitrary<T>,
  run: (input: T) => unknown,
  options: { limitMs?: number } = {},
): Target {
  return { name, inputs, run: run as (input: unknown) => unknown, limitMs, ...options };
}
