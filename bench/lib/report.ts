/** One shape for what every bench measures: a figure, and the limit of the machine measured in the same run. */
import { parseArgs } from "node:util";
import { profilePrograms, topCosts } from "./profile.ts";

export type Row = {
  what: string;
  value: number;
  unit: string;
  /** What the figure is held against, in the same unit. */
  beside?: { what: string; value: number };
};

export type Say = (text: string) => void;
export type Bench = (say: Say) => Promise<Row[]>;

/** For `node bench/x.ts [--json] [--profile]`. */
export async function runAlone(bench: Bench): Promise<void> {
  const { values } = parseArgs({ options: { json: { type: "boolean" }, profile: { type: "boolean" } } });
  const profiles = values.profile ? await profilePrograms() : undefined;
  const rows = await bench(toTerminal);
  process.stdout.write(values.json ? `${JSON.stringify(rows.map(withRatio))}\n` : table(rows));
  if (profiles) await tellProfiles(await profiles());
}

export async function tellProfiles(paths: readonly string[]): Promise<void> {
  process.stderr.write("CPU profiles of the program, one per process and thread, with what took most of it:\n");
  for (const path of paths) process.stderr.write(`${[path, ...(await topCosts(path))].join("\n  ")}\n`);
}

/** Progress goes beside the result, so that the result can be piped. */
export const toTerminal: Say = (text) => void process.stderr.write(`  ${text}\n`);

export function withRatio(row: Row) {
  return { ...row, ...(row.beside && { ratio: Number((row.value / row.beside.value).toFixed(3)) }) };
}

export function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const figure = `${show(row.value)} ${row.unit}`.trim();
    const { beside } = row;
    return [
      row.what,
      figure,
      beside ? `${percent(row.value / beside.value)} of ${show(beside.value)}: ${beside.what}` : "",
    ];
  });
  const widths = [0, 1].map((column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map(([what, figure, limit]) => `${what!.padEnd(widths[0]!)}  ${figure!.padStart(widths[1]!)}  ${limit}`.trimEnd())
    .join("\n")
    .concat("\n");
}

const percent = (ratio: number) => `${Math.round(ratio * 100)} %`;
export const show = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
