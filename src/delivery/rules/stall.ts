/** When a site that does not answer counts as stalled, and how long a session may take to open. Both adapt to what the site usually
 * needs. Used by pace/. */
import type { AnsweredStep } from "../../smtp/client/evidence.ts";

/** The usual time until the site's answer, in milliseconds; a step that was never answered is absent. */
export type Usual = Partial<Record<AnsweredStep, number>>;

/** Several times the usual: a site is rarely this slow by chance. */
const patience = 4;
const stallMs = { least: 2_000, unknown: 5_000, most: 30_000 };
/** Weight of the newest answer in the moving average. */
const newest = 1 / 8;
/** RFC 5321 §4.5.3.2 suggests minutes. Slow servers get them at the second attempt. */
const leastOpeningMs = 30_000;

export function withAnswer(usual: Usual, step: AnsweredStep, tookMs: number): Usual {
  const before = usual[step] ?? tookMs;
  return { ...usual, [step]: before + (tookMs - before) * newest };
}

/** A false alarm costs little: the site gets one recipient at a time until its next success. */
export function stallAfterMs(usual: Usual, step: AnsweredStep): number {
  const usualMs = usual[step];
  if (usualMs === undefined) return stallMs.unknown;
  return Math.min(stallMs.most, Math.max(stallMs.least, patience * usualMs));
}

/** Shorter time-outs until the session is open, for a recipient's first attempt. Later attempts get the full ones. */
export function openingTimeouts(usual: Usual, attempts: number) {
  if (attempts > 0) return undefined;
  const limitMs = Math.max(leastOpeningMs, patience * (usual.open ?? 0));
  return { bannerMs: limitMs, ehloMs: limitMs, tlsMs: limitMs };
}
