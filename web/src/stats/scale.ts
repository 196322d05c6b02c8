/** Calculations for the chart and the figures: the maximum of an axis, the scale of a meter, and formatting of values. */

/** A round maximum for the axis that leaves little of it empty. At least 1, so that an empty chart has an axis. */
export function countCeiling(values: readonly number[]): number {
  const max = Math.max(1, ...values);
  const unit = 10 ** Math.floor(Math.log10(max));
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]
    .map((step) => Math.ceil(step * unit))
    .find((ceiling) => ceiling >= max)!;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

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

/** A rate with two significant digits below 10 %, as limits are written: 0.05 %, 1.5 %, 98.1 %. Never rounded to 100 % or 0 %. */
export function formatRate(rate: number | undefined): string {
  if (rate === undefined) return "–";
  const percent = rate * 100;
  if (percent > 99.9 && percent < 100) return "> 99.9 %";
  if (percent > 0 && percent < 0.01) return "< 0.01 %";
  return `${percent.toLocaleString("en", { maximumFractionDigits: percent < 1 ? 2 : 1 })} %`;
}

/** The length of a meter's bar and the place of its limit, in percent. The limit moves when the rate is above it. */
export function meterScale(rate: number, limit: number): { length: number; limitAt: number } {
  const full = Math.max(limit, rate) * 1.02;
  return { length: (rate / full) * 100, limitAt: (limit / full) * 100 };
}
