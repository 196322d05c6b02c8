/** A program may run as several processes (app/processes). Limits on what callers hold at the same time, such as memory, connections and calls, are
 * divided: each process enforces its part, and the parts add up to the limit. Rates and attempts are counted together instead
 * (leased-tokens.ts, guesses-among-peers.ts). */

/** This process, counted from 0, among all processes of the program. */
export type ProcessPart = { index: number; of: number };

export const onlyProcess: ProcessPart = { index: 0, of: 1 };

/** The part of this process in a limit. `least`: a process cannot work with less, so many processes together may exceed a small limit. */
export function partOf(total: number, { index, of }: ProcessPart, least = 1): number {
  if (!Number.isFinite(total)) return total;
  return Math.max(Math.min(least, total), Math.floor(total / of) + (index < total % of ? 1 : 0));
}
