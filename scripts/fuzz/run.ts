/** Runs a fuzz target for a given time. Inputs come from a seed, and each finding is reported with its seed.
 * Used by worker.ts and fuzz.test.ts. */
import fc from "fast-check";
import type { Target } from "./target.ts";

export type Finding = { target: string; seed: number; index: number; what: string; input: string };
export type Tally = { inputs: number; slowestMs: number; findings: Finding[] };
export type RunOptions = {
  seconds: number;
  /** Seed of the first batch; each following batch uses the next number. */
  seed: number;
  /** Ends the run after this many inputs. */
  maxInputs?: number;
  /** Called before each input, so that another thread can detect a hang. */
  onInput?(seed: number, index: number): void;
};

const batch = 100;

export async function runTarget(target: Target, options: RunOptions): Promise<Tally> {
  const tally: Tally = { inputs: 0, slowestMs: 0, findings: [] };
  const end = performance.now() + options.seconds * 1000;
  for (let seed = options.seed; performance.now() < end; seed++) {
    const inputs = inputsOf(target, seed);
    for (const [index, input] of inputs.entries()) {
      if (performance.now() >= end || tally.inputs === options.maxInputs) return tally;
      options.onInput?.(seed, index);
      const { what, ms } = await tryInput(target, input);
      tally.inputs += 1;
      tally.slowestMs = Math.max(tally.slowestMs, ms);
      if (what) tally.findings.push({ target: target.name, seed, index, what, input: shown(input) });
      if (tally.findings.length >= 5) return tally;
    }
  }
  return tally;
}

function inputsOf(target: Target, seed: number): unknown[] {
  return fc.sample(target.inputs, { seed, numRuns: batch });
}

async function tryInput(target: Target, input: unknown): Promise<{ what: string | undefined; ms: number }> {
  let ms = Number.POSITIVE_INFINITY;
  // The first run may include compilation and garbage collection, so the fastest of up to three runs counts.
  for (let round = 0; round < 3; round++) {
    const before = process.threadCpuUsage();
    try {
      await target.run(input);
    } catch (error) {
      return { what: (error as Error)?.stack ?? String(error), ms: 0 };
    }
    const used = process.threadCpuUsage(before);
    ms = Math.min(ms, (used.user + used.system) / 1000);
    if (ms <= target.limitMs) break;
  }
  const slow = ms > target.limitMs && `took ${Math.round(ms)} ms of CPU time, more than ${target.limitMs}`;
  return { what: slow || undefined, ms };
}

function shown(input: unknown): string {
  const text = Buffer.isBuffer(input) ? input.toString("latin1") : JSON.stringify(input);
  return `${text.length} characters: ${JSON.stringify(text.slice(0, 300))}`;
}
