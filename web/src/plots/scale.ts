/** The sums behind a plot: how high its axis goes, where a line runs, and figures in few words. */

/** A round number that holds all values: 1, 2 or 5 with zeros; 1 at least, so that an empty plot has an axis. */
export function countCeiling(values: readonly number[]): number {
  const most = Math.max(1, ...values);
  const unit = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * unit).find((ceiling) => ceiling >= most)!;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const durations = [
  ...[0.2, 0.5, 1, 2, 5, 10, 20, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 20, 30].map((n) => n * minute),
  ...[1, 2, 6, 12, 24, 48].map((n) => n * hour),
];

/** A round duration that holds all values. */
export function durationCeiling(values: readonly number[]): number {
  const most = Math.max(0, ...values);
  return durations.find((ceiling) => ceiling >= most) ?? Math.ceil(most / hour) * hour;
}

export function sayDuration(ms: number): string {
  if (ms < second) return `${Math.round(ms)} ms`;
  const [unit, name] = ms < minute ? [second, "s"] : ms < hour ? [minute, "min"] : [hour, "h"];
  return `${(ms / unit).toLocaleString("en", { maximumFractionDigits: ms / unit < 10 ? 1 : 0 })} ${name}`;
}

export function sayCount(count: number): string {
  return count.toLocaleString("en");
}

/** On an axis there is little room: 1,200 is 1.2K. */
export function sayShort(count: number): string {
  return count.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
}

export function sayShare(part: number, whole: number): string {
  return whole === 0 ? "" : (part / whole).toLocaleString("en", { style: "percent", maximumFractionDigits: 1 });
}

/** The path of a line in a plot that is one high and a bucket wide for each value: from bucket to bucket; each beginning and end reaches to the edge of its bucket, so that one alone can be seen. */
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
