/** The rules of pace: the signal that a transaction gives about its site, the share of each node, and the back-off. Used by pace/. */
import type { Outcome } from "./outcome.ts";

/** A site that works again is probed within this time, plus jitter. */
const longestBackOffMs = 15 * 60_000;

/**
 * What one transaction shows about the site as a whole. `ok`: the site answered. `slow`: it answered and asks for less (421, 4.7.x about
 * us). `down`: no session could be opened. `none`: the transaction shows nothing about the site.
 */
export type SiteSignal = "ok" | "slow" | "down" | "none";

/** From the outcome of one transaction. `opened`: an SMTP session was opened. */
export function signalOf({ kind, category, scope }: Outcome, opened: boolean): SiteSignal {
  if (category === "interrupted") return "none";
  // This message required TLS that the site does not offer. Messages without that requirement may still get through.
  if (category === "tls" || category === "dane") return "none";
  if (kind !== "deferred" || scope !== "destination") return "ok";
  return opened ? "slow" : "down";
}

/** One node's share of a whole number. The shares of all nodes add up to it, and the site decides which nodes get the remainder. */
export function shareOf(whole: number, node: { rank: number; nodes: number }, site: string): number {
  const { rank, nodes } = node;
  if (nodes <= 1) return whole;
  const position = (rank + hashOf(site)) % nodes;
  return Math.floor(whole / nodes) + (position < whole % nodes ? 1 : 0);
}

/** The wait before the next probe of a site that does not answer. */
export function backOffMs(failures: number, scheduleMs: readonly number[], random: () => number): number {
  const wait = Math.min(scheduleMs[Math.min(failures, scheduleMs.length) - 1] ?? 0, longestBackOffMs);
  return Math.round(wait * (0.8 + 0.4 * random()));
}

/** FNV-1a: the same on every node and after a restart. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
