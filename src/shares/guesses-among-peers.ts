/** Attempts that one process of the program counts, counted by its other processes too: limits against guessing hold for all of them
 * together. Attempts are rare and slow, so each is sent as it happens. There is one link per process, like the channel to its supervisor, which
 * app/processes/child.ts connects; without one, nothing is sent. */

/** `limit` names the limit, the same in every process. */
export type AttemptNote = { limit: string; act: "take" | "giveBack"; key: string };

type Limit = Record<AttemptNote["act"], (key: string, nowMs: number) => void>;

const limits = new Map<string, Limit>();
let send: ((note: AttemptNote) => void) | undefined;

/** Returns the function for the notes of the other processes. */
export function connectAttempts(sendNote: (note: AttemptNote) => void): (note: AttemptNote, nowMs: number) => void {
  send = sendNote;
  return ({ limit, act, key }, nowMs) => limits.get(limit)?.[act](key, nowMs);
}

/** The limit with its changes sent to the other processes. Without a name it holds for this process alone. */
export function amongPeers<L extends Limit>(limit: L, name: string | undefined): L {
  if (name === undefined) return limit;
  limits.set(name, { take: limit.take, giveBack: limit.giveBack });
  const sending = (act: AttemptNote["act"]) => (key: string, nowMs: number) => {
    limit[act](key, nowMs);
    send?.({ limit: name, act, key });
  };
  return { ...limit, take: sending("take"), giveBack: sending("giveBack") };
}
