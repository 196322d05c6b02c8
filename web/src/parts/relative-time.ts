/** Says how far a time lies from now, in the largest unit that fits. */

const units: [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function sayRelative(date: Date, now: Date): string {
  const seconds = (date.getTime() - now.getTime()) / 1000;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? [];
  // Cut, not rounded: 1 minute 59 seconds ago is not yet 2 minutes ago.
  return unit && size ? words.format(Math.trunc(seconds / size), unit) : "just now";
}
