/** Formats a time relative to now, in the largest unit that fits. */

const units: [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const formatter = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function formatRelative(date: Date, now: Date): string {
  const seconds = (date.getTime() - now.getTime()) / 1000;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? [];
  // Truncated, not rounded: 1 minute 59 seconds ago is shown as 1 minute ago.
  return unit && size ? formatter.format(Math.trunc(seconds / size), unit) : "just now";
}
