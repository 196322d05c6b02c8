/** How the pace at one site follows its answers: shrinks on trouble, grows on success, is left alone when nobody answers. Pure. */
import type { Outcome } from "./outcome.ts";

/**
 * What one conversation says about the receiver as a whole: `well` it answered us; `slow` it answered and asks for less (421,
 * 4.7.x about us); `down` no session came about; `nothing` the attempt says nothing about it.
 */
export type Signal = "well" | "slow" | "down" | "nothing";

/** From the outcomes of one transaction. `opened`: a session came about. */
export function signalOf(outcomes: readonly Outcome[], opened: boolean): Signal {
  if (outcomes.some(({ category }) => category === "interrupted")) return "nothing";
  // Nobody could send this one without TLS; others may well go.
  if (outcomes.every(({ category }) => category === "tls")) return "nothing";
  if (outcomes.some(({ kind }) => kind === "delivered" || kind === "sent")) return "well";
  const asksForLess = outcomes.some(({ kind, scope }) => kind === "deferred" && scope === "destination");
  if (!asksForLess) return "well";
  return opened ? "slow" : "down";
}

/** Part of a whole number for one of several nodes: the parts add up to it, and small numbers fall to different nodes by site. */
export function shareOf(whole: number, node: { rank: number; nodes: number }, site: string): number {
  const { rank, nodes } = node;
  if (nodes <= 1) return whole;
  const place = (rank + hashOf(site)) % nodes;
  return Math.floor(whole / nodes) + (place < whole % nodes ? 1 : 0);
}

/** How long a site that does not answer is left alone before the next probe. */
export function backOffMs(failures: number, scheduleMs: readonly number[], random: () => number): number {
  const wait = Math.min(scheduleMs[Math.min(failures, scheduleMs.length) - 1] ?? 0, longestBackOffMs);
  return Math.round(wait * (0.8 + 0.4 * random()));
}

/** A site that comes back is found within this time. */
const longestBackOffMs = 15 * 60_000;

/** FNV-1a: stable on every node and over restarts. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
