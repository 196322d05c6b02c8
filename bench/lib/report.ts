/** The result of every bench: figures, each with an optional baseline that was measured in the same run. Also prints them. */
import { topCosts } from "./profile.ts";

export type Row = {
  what: string;
  value: number;
  unit: string;
  /** The limit or reference that the figure is compared with, in the same unit. */
  baseline?: { what: string; value: number };
  /** The highest ratio to the baseline that is fine. The table marks a higher one. */
  most?: number;
};

/** Reports what the bench is doing. */
export type Progress = (text: string) => void;
export type Bench = (progress: Progress) => Promise<Row[]>;

export async function printProfiles(paths: readonly string[]): Promise<void> {
  process.stderr.write("CPU profiles of the program, one per process and thread, with the most expensive functions:\n");
  for (const path of paths) process.stderr.write(`${[path, ...(await topCosts(path))].join("\n  ")}\n`);
}

/** Progress goes to standard error, so that the result can be piped. */
export const printProgress: Progress = (text) => void process.stderr.write(`  ${text}\n`);

export function withRatio(row: Row) {
  return { ...row, ...(row.baseline && { ratio: Number((row.value / row.baseline.value).toFixed(3)) }) };
}

export function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const figure = `${show(row.value)} ${row.unit}`.trim();
    const { baseline, most = Number.POSITIVE_INFINITY } = row;
    const ratio = row.value / (baseline?.value ?? Number.NaN);
    return [
      row.what,
      figure,
      baseline ? `${percent(ratio)} of ${show(baseline.value)}: ${baseline.what}` : "",
      ratio > most ? `MISSED, at most ${percent(most)}` : "",
    ];
  });
  const widths = [0, 1, 2].map((column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map(([what, figure, limit, mark]) =>
      `${what!.padEnd(widths[0]!)}  ${figure!.padStart(widths[1]!)}  ${limit!.padEnd(widths[2]!)}  ${mark}`.trimEnd(),
    )
    .join("\n")
    .concat("\n");
}

const percent = (ratio: number) => `${Math.round(ratio * 100)} %`;
export const show = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
