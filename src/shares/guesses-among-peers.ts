/** Attempts that one process of the program counts, counted by its other processes too: limits against guessing hold for all of them
 * together. Attempts are rare and slow, so each is sent as it happens. A process that starts gets the counts of another one. There is one link per
 * process, like the channel to its supervisor, which app/processes/child.ts connects; without one, nothing is sent. */
import type { TokenBuckets, TokenCounts } from "./token-bucket.ts";

/** `limit` names the limit, the same in every process. */
export type AttemptNote = { limit: string; act: "take" | "giveBack"; key: string };

/** The counts of each limit, by its name. */
export type AttemptCounts = [limit: string, counts: TokenCounts][];

export type AttemptLink = {
  /** A note of another process. */
  hear(note: AttemptNote, nowMs: number): void;
  /** For a process that starts. */
  counts(nowMs: number): AttemptCounts;
  restore(counts: AttemptCounts, nowMs: number): void;
};

type Limit = Record<AttemptNote["act"], (key: string, nowMs: number) => void>;
type Shared = { limit: Limit; buckets: Pick<TokenBuckets, "counts" | "restore"> };

/** Of each limit, the keys that are closest to it. All keys of an attack from many addresses would be a message of many megabytes. */
const mostKeys = 2_000;
const mostEarly = 10_000;

const limits = new Map<string, Shared>();
/** What arrives for a limit before the starting process has created it. */
const early = new Map<string, ((shared: Shared) => void)[]>();
let send: ((note: AttemptNote) => void) | undefined;

export function connectAttempts(sendNote: (note: AttemptNote) => void): AttemptLink {
  send = sendNote;
  return {
    hear: ({ limit: name, act, key }, nowMs) => reach(name, ({ limit }) => limit[act](key, nowMs)),
    counts: (nowMs) => [...limits].map(([name, { buckets }]) => [name, fewest(buckets.counts(nowMs))]),
    restore(all, nowMs) {
      for (const [name, counts] of all) reach(name, ({ buckets }) => buckets.restore(counts, nowMs));
    },
  };
}

function reach(name: string, act: (shared: Shared) => void): void {
  const shared = limits.get(name);
  if (shared) return act(shared);
  const waiting = early.get(name) ?? [];
  early.set(name, waiting);
  if (waiting.length < mostEarly) waiting.push(act);
}

function fewest(counts: TokenCounts): TokenCounts {
  return counts.sort(([, a], [, b]) => a - b).slice(0, mostKeys);
}

/** The limit with its changes sent to the other processes. Without a name it holds for this process alone. */
export function amongPeers<L extends Limit>({
  limit,
  buckets,
  name,
}: {
  limit: L;
  buckets: Shared["buckets"];
  name: string | undefined;
}): L {
  if (name === undefined) return limit;
  // Two limits of one name would count each other's attempts in the other processes, but not in this one.
  if (send && limits.has(name)) throw new Error(`there are two limits with the name ${name}`);
  const shared: Shared = { limit: { take: limit.take, giveBack: limit.giveBack }, buckets };
  limits.set(name, shared);
  for (const act of early.get(name) ?? []) act(shared);
  early.delete(name);
  const sending = (act: AttemptNote["act"]) => (key: string, nowMs: number) => {
    limit[act](key, nowMs);
    send?.({ limit: name, act, key });
  };
  return { ...limit, take: sending("take"), giveBack: sending("giveBack") };
}
