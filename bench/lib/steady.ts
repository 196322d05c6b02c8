/** Repeats a measurement, because a single one says little on a shared machine. The environment stays; only the measured part is repeated. */
import { type Progress, type Row, ratioOf } from "./report.ts";
import { quick } from "./scale.ts";
import { meanShares } from "./shares.ts";

/** Two measurements that differ by more than this are followed by a third one. */
export const tolerance = 0.1;

/**
 * Measures twice, and a third time if a row differs by more than 10 %. Returns the mean of two and the median of three measurements. Each
 * measurement has the figure and its baseline one right after the other, so that a change of the machine's load affects both. `--quick`
 * measures once.
 */
export async function steady(progress: Progress, measure: (run: number) => Promise<Row[]>): Promise<Row[]> {
  const first = await measure(1);
  if (quick) return first;
  progress("measuring again …");
  const runs = [first, await measure(2)];
  if (first.some((row) => differs(row, find(runs[1]!, row)))) {
    progress(`the measurements are more than ${tolerance * 100} % apart: measuring a third time …`);
    runs.push(await measure(3));
  }
  return middleRows(runs);
}

/** Whether a third measurement is needed. Extremes, such as the longest pause, and memory differ anyway, and are compared with nothing. */
export function differs(row: Row, other: Row | undefined): boolean {
  if (!other) return false;
  const compared = row.baseline || row.least !== undefined || row.most !== undefined || row.unit === "/s";
  if (!compared) return false;
  return apart(row.value, other.value) > tolerance || apart(ratioOf(row), ratioOf(other)) > tolerance;
}

export function middleRows(runs: readonly Row[][]): Row[] {
  return runs[0]!.map((row) => middle(runs.flatMap((rows) => find(rows, row) ?? [])));
}

function middle(rows: readonly Row[]): Row {
  const sorted = rows.toSorted((a, b) => ratioOf(a) - ratioOf(b));
  // Of three measurements the one with the median ratio counts as a whole, so that its figure and its baseline belong together.
  const chosen = rows.length === 2 ? mean(rows) : sorted[sorted.length >> 1]!;
  const range = ratioOf(sorted.at(-1)!) - ratioOf(sorted[0]!);
  const figure = ratioOf(chosen);
  return { ...chosen, runs: rows.length, spread: figure === 0 ? 0 : range / 2 / figure };
}

function mean(rows: readonly Row[]): Row {
  const average = (of: (row: Row) => number) => rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
  const { baseline } = rows[0]!;
  const shares = rows.flatMap((row) => row.shares ?? []);
  return {
    ...rows[0]!,
    value: average(({ value }) => value),
    ...(baseline && { baseline: { ...baseline, value: average((row) => row.baseline!.value) } }),
    ...(shares.length > 0 && { shares: meanShares(shares) }),
  };
}

function find(rows: readonly Row[], row: Row): Row | undefined {
  return rows.find(({ what, baseline }) => what === row.what && baseline?.what === row.baseline?.what);
}

function apart(a: number, b: number): number {
  return Math.max(a, b) / Math.min(a, b) - 1;
}
