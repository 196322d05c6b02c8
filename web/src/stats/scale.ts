/** Calculations for plots: the maximum of an axis, the path of a line, and formatting of values. */

/** A round maximum for the axis: 1, 2 or 5 times a power of ten. At least 1, so that an empty plot has an axis. */
export function countCeiling(values: readonly number[]): number {
  const max = Math.max(1, ...values);
  const unit = 10 ** Math.floor(Math.log10(max));
  return [1, 2, 5, 10].map((step) => step * unit).find((ceiling) => ceiling >= max)!;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const durations = [
  ...[0.2, 0.5, 1, 2, 5, 10, 20, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 20, 30].map((n) => n * minute),
  ...[1, 2, 6, 12, 24, 48].map((n) => n * hour),
];

/** A round maximum for an axis of durations. */
export function durationCeiling(values: readonly number[]): number {
  const max = Math.max(0, ...values);
  return durations.find((ceiling) => ceiling >= max) ?? Math.ceil(max / hour) * hour;
}

export function formatDuration(ms: number): string {
  if (ms < second) return `${Math.round(ms)} ms`;
  const [unit, name] = ms < minute ? [second, "s"] : ms < hour ? [minute, "min"] : [hour, "h"];
  return `${(ms / unit).toLocaleString("en", { maximumFractionDigits: ms / unit < 10 ? 1 : 0 })} ${name}`;
}

export function formatCount(count: number): string {
  return count.toLocaleString("en");
}

/** A compact number for axes: 1,200 is 1.2K. */
export function formatCompact(count: number): string {
  return count.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
}

export function formatShare(part: number, whole: number): string {
  return whole === 0 ? "" : (part / whole).toLocaleString("en", { style: "percent", maximumFractionDigits: 1 });
}

/**
 * The SVG path of a line, in a plot of height 1 with one unit of width per value. The line connects the centers of buckets. At the
 * start and end of each run it extends to the edge of the bucket, so that a single value is visible.
 */
export function line(values: readonly (number | undefined)[], ceiling: number): string {
  const steps = values.map((value, bucket) => {
    if (value === undefined) return "";
    const y = 1 - value / ceiling;
    const begin = values[bucket - 1] === undefined ? `M${bucket} ${y}` : "";
    const end = values[bucket + 1] === undefined ? `L${bucket + 1} ${y}` : "";
    return `${begin}L${bucket + 0.5} ${y}${end}`;
  });
  return steps.join("");
}
