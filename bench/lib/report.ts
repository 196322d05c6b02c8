/** The result of every bench: figures, each with an optional baseline that was measured in the same run, and an optional target. Prints them. */
import { topCosts } from "./profile.ts";
import { type Shares, showShares } from "./shares.ts";

export type Row = {
  what: string;
  value: number;
  unit: string;
  /** The limit or reference that the figure is compared with, in the same unit. */
  baseline?: { what: string; value: number };
  /** Instead of a baseline: why there is none, such as a program that is not installed. */
  notCompared?: string;
  /** The target: the lowest or the highest ratio to the baseline. Without `baseline` and `notCompared`, a value in the unit of the row. */
  least?: number;
  most?: number;
  /** CPU time of the processes of the bench during the measurement. */
  shares?: Shares;
  /** Set by steady.ts: the number of measurements, and half of their range as a share of the figure. */
  runs?: number;
  spread?: number;
};

/** Reports what the bench is doing. */
export type Progress = (text: string) => void;
export type Bench = (progress: Progress) => Promise<Row[]>;

export async function printProfiles(paths: readonly string[]): Promise<void> {
  process.stderr.write("CPU profiles of the program, one per process and thread, with the most expensive functions:\n");
  for (const path of paths) process.stderr.write(`${[path, ...(await topCosts(path))].join("\n  ")}\n`);
}

/** Progress goes to standard error, so that the result can be piped. Each line begins with the seconds since this call. */
export function startProgress(): Progress {
  const began = performance.now();
  return (text) => {
    const seconds = Math.round((performance.now() - began) / 1000);
    process.stderr.write(`${String(seconds).padStart(5)} s  ${text}\n`);
  };
}

/** A row as --json prints it. */
export function withRatio(row: Row) {
  const target = targetOf(row);
  return {
    ...row,
    ...(row.baseline && { ratio: Number(ratioOf(row).toFixed(3)) }),
    ...(target && { target: target.state }),
  };
}

/** The ratio to the baseline, or the value of a row without one: what targets and spreads refer to. */
export function ratioOf({ value, baseline }: Row): number {
  return baseline ? value / baseline.value : value;
}

export type Target = { state: "met" | "missed" | "not compared"; text: string };

export function targetOf(row: Row): Target | undefined {
  const { least, most } = row;
  if (least === undefined && most === undefined) return undefined;
  const limit = (value: number) =>
    row.baseline || row.notCompared ? percent(value) : `${show(value)} ${row.unit}`.trim();
  const text = [
    ...(least === undefined ? [] : [`at least ${limit(least)}`]),
    ...(most === undefined ? [] : [`at most ${limit(most)}`]),
  ].join(", ");
  if (row.notCompared) return { state: "not compared", text };
  const figure = ratioOf(row);
  // A figure that is not a number misses its target.
  const met = figure >= (least ?? Number.NEGATIVE_INFINITY) && figure <= (most ?? Number.POSITIVE_INFINITY);
  return { state: met ? "met" : "missed", text };
}

export function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => [
    row.what,
    `${show(row.value)} ${row.unit}`.trim(),
    comparison(row),
    spreadText(row),
    mark(row),
  ]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...lines.map((line) => line[column]!.length)));
  return rows
    .flatMap((row, i) => {
      const [what, figure, limit, spread, target] = lines[i]! as [string, string, string, string, string];
      const cells = [
        what.padEnd(widths[0]!),
        figure.padStart(widths[1]!),
        limit.padEnd(widths[2]!),
        spread.padEnd(widths[3]!),
        target,
      ];
      // Once for a figure, which may have several rows, each with another baseline.
      const shares = row.shares && rows[i - 1]?.what !== row.what ? [`    ${showShares(row.shares)}`] : [];
      return [cells.join("  ").trimEnd(), ...shares];
    })
    .join("\n")
    .concat("\n");
}

/** How many targets are met, and which are not; an empty text without any. */
export function summary(rows: readonly Row[]): string {
  const targets = rows.flatMap((row) => {
    const target = targetOf(row);
    return target ? [{ row, ...target }] : [];
  });
  if (targets.length === 0) return "";
  const met = targets.filter(({ state }) => state === "met").length;
  const others = targets
    .filter(({ state }) => state !== "met")
    .map(({ row, state, text }) => {
      const figure = row.baseline
        ? `${percent(ratioOf(row))} of ${row.baseline.what}`
        : `${show(row.value)} ${row.unit}`;
      return `  ${state}: ${row.what}: ${state === "missed" ? figure : row.notCompared} (target: ${text})`;
    });
  return `${[`${met} of ${targets.length} targets are met.`, ...others].join("\n")}\n`;
}

function comparison({ value, baseline, notCompared }: Row): string {
  if (notCompared) return `not compared: ${notCompared}`;
  return baseline ? `${percent(value / baseline.value)} of ${show(baseline.value)}: ${baseline.what}` : "";
}

function spreadText({ runs, spread }: Row): string {
  return runs === undefined || spread === undefined ? "" : `±${Math.round(spread * 100)} %, ${runs} runs`;
}

function mark(row: Row): string {
  const target = targetOf(row);
  if (!target || target.state === "not compared") return "";
  return target.state === "met" ? `target met, ${target.text}` : `MISSED, ${target.text}`;
}

export const percent = (ratio: number) => `${Math.round(ratio * 100)} %`;
export const show = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
