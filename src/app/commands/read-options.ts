/** Reads the values of options that several commands share: times, durations, choices and numbers. Each mistake names the option. */
import { UsageError } from "../command.ts";

type Value = string | boolean | undefined;

const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90d`, `24h`, `30m`, `10s` or `0`; undefined for anything else. */
export function readDuration(text: string): number | undefined {
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  if (text === "0") return 0;
  return match ? Number(match[1]) * unitMs[match[2]!]! : undefined;
}

const iso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

/** A day (its start in UTC) or a moment; undefined for anything else. Without a zone, the machine's own zone would decide. */
export function readMoment(text: string): Date | undefined {
  const time = iso.test(text) ? new Date(text) : undefined;
  return time && !Number.isNaN(time.getTime()) ? time : undefined;
}

/** A moment, or a duration before now. */
export function readTime(option: string, value: Value): string | undefined {
  if (value === undefined) return undefined;
  const text = String(value);
  const agoMs = readDuration(text);
  const time = agoMs === undefined ? readMoment(text) : new Date(Date.now() - agoMs);
  if (time) return time.toISOString();
  throw new UsageError(
    `--${option} must be a day or a time such as 2026-11-01 or 2026-11-01T12:00:00Z, or a duration before now such as 24h, not ${JSON.stringify(value)}`,
  );
}

/** The constant of the API for a word: `bounced` is EMAIL_OUTCOME_BOUNCED. */
export function readChoice(option: string, value: string, prefix: string, words: readonly string[]): string {
  const word = value.toLowerCase().replaceAll("_", "-");
  if (words.includes(word)) return `${prefix}${word.toUpperCase().replaceAll("-", "_")}`;
  throw new UsageError(`--${option} must be one of ${words.join(", ")}, not ${JSON.stringify(value)}`);
}

export function readCount(option: string, value: Value): number | undefined {
  if (value === undefined) return undefined;
  const count = Number(value);
  if (/^\d+$/.test(String(value)) && Number.isSafeInteger(count) && count > 0) return count;
  throw new UsageError(`--${option} must be a number of at least 1, not ${JSON.stringify(value)}`);
}

/** Exactly the words that the usage line names. */
export function readWords<const Names extends readonly string[]>(
  words: readonly string[],
  names: Names,
  example: string,
): { [K in keyof Names]: string } {
  if (words.length === names.length && words.every((word) => word !== ""))
    return [...words] as { [K in keyof Names]: string };
  throw new UsageError(`Give ${names.join(" and ")}, for example: posthorn ${example}`);
}
