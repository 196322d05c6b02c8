/** Dates and times as text. time.tsx shows them as elements that update. */

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const time = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** 8 Mar 2026 */
export function dayText(date: Date): string {
  return day.format(date);
}

/** 8 Mar 2026, 10:05 */
export function timeText(date: Date): string {
  return time.format(date);
}

/** 10:05:31 */
export function clockText(date: Date | number): string {
  return clock.format(date);
}
