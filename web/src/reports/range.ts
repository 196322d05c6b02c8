/** The time ranges of the page of reports, single days, and their names. Reports count by day, and days start at midnight UTC. */
import { type Timestamp, timestampDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { readTextParams } from "../parts/search-params.ts";

const dayMs = 86_400_000;

export interface Range {
  id: string;
  name: string;
  /** As in "no reports about the last 30 days". */
  words: string;
  days: number;
}

const month: Range = { id: "30d", name: "Last 30 days", words: "last 30 days", days: 30 };

export const ranges: readonly Range[] = [month, { id: "90d", name: "Last 90 days", words: "last 90 days", days: 90 }];

export function rangeOf(id: string | undefined): Range {
  return ranges.find((range) => range.id === id) ?? month;
}

/** Complete days up to and including today. It stays the same until the day ends. */
export function requestOf({ days }: Pick<Range, "days">, nowMs: number): { from: Timestamp; to: Timestamp } {
  const toMs = (Math.floor(nowMs / dayMs) + 1) * dayMs;
  return { from: timestampFromMs(toMs - days * dayMs), to: timestampFromMs(toMs) };
}

export type ReportSearch = { range?: string; day?: string; show?: string };

/** The filters in the page's URL. A day that does not exist is ignored. */
export function readReportSearch(raw: Record<string, unknown>): ReportSearch {
  const { day, ...rest } = readTextParams(raw, ["range", "day", "show"]);
  return day !== undefined && spanOf(day) ? { ...rest, day } : rest;
}

/** The day as a time range. Undefined: there is no such day. */
export function spanOf(day: string): { from: Timestamp; to: Timestamp } | undefined {
  const startMs = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(startMs) || dayId(startMs) !== day) return undefined;
  return { from: timestampFromMs(startMs), to: timestampFromMs(startMs + dayMs) };
}

/** 2026-11-02, as in the URL. */
export function dayOf(at: Timestamp): string {
  return dayId(timestampDate(at).getTime());
}

function dayId(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

// In local time, some days would have the name of the previous day.
const thisYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const otherYear = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

/** 2 Nov, or 2 Nov 2025 in another year. */
export function dayName(at: Timestamp, nowMs: number): string {
  const date = timestampDate(at);
  const isThisYear = date.getUTCFullYear() === new Date(nowMs).getUTCFullYear();
  return (isThisYear ? thisYear : otherYear).format(date);
}

/** The period of a report: its day, or its start and end. Most reports are about one day. */
export function periodText(begin: Timestamp, end: Timestamp, nowMs: number): string {
  const [beginMs, endMs] = [begin, end].map((at) => timestampDate(at).getTime()) as [number, number];
  const lengthMs = endMs - beginMs;
  // Some reporters end the day a second early.
  if (beginMs % dayMs === 0 && lengthMs <= dayMs && lengthMs >= dayMs - 1_000) return dayName(begin, nowMs);
  return `${minute(beginMs)} to ${minute(endMs)} UTC`;
}

function minute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}
