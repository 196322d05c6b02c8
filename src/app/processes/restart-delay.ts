/** When a process that has ended is started again: at once after a stable run, and later and later after runs that were short. */
import { deadAfterSeconds } from "../../postgres/workers.ts";
import type { End } from "./run.ts";

export const stableMs = 60_000;
const firstMs = 500;
const longestMs = 30_000;

export type Ended = {
  /** How long the process served; undefined: it never did. */
  servedMs: number | undefined;
  /** How many runs before this one ended early, without a stable run in between. */
  earlyEnds: number;
};

export function nextStart({ servedMs, earlyEnds }: Ended): { delayMs: number; earlyEnds: number } {
  if (servedMs !== undefined && servedMs >= stableMs) return { delayMs: 0, earlyEnds: 0 };
  // The first early end of a process that has served may be an accident, such as an operator's kill.
  if (servedMs !== undefined && earlyEnds === 0) return { delayMs: 0, earlyEnds: 1 };
  return { delayMs: Math.min(longestMs, firstMs * 2 ** earlyEnds), earlyEnds: earlyEnds + 1 };
}

/** How a process ended, for the log. */
export function causeOf({ code, signal, isHung }: End): string {
  if (isHung) return `did not answer for ${deadAfterSeconds} s and was killed`;
  if (signal === "SIGKILL") return "ended by SIGKILL, which the kernel also sends when memory runs out";
  if (signal !== null) return `ended by ${signal}`;
  return `ended with exit code ${code}`;
}
