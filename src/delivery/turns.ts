/** A few places that many want: those who wait are served by turns of their keys, so that one who asks a thousand times waits behind
 * himself and nobody else does. Attempts take turns by workspace for composing and signing, which is what the processor limits. */

export type Turns = {
  /** Resolves to the way to give the place back. */
  take(key: string, signal: AbortSignal): Promise<() => void>;
};

/** Who took a place within this time is one of those who share: as long as the rest of an email's way takes, to its receiver and into the log. */
const recentMs = 100;
/** How long a place rests, beside others, for the time it was held. */
const restShare = 1;

/**
 * Alone, a key may have every place. Beside others nobody gets more than a quarter of an equal share, and a place rests as long as it was held: the
 * processor then has idle moments, in which the few emails of a workspace that sends little are answered as if nobody flooded.
 */
export function createTurns(places: number, nowMs = () => performance.now()): Turns {
  /** In the order of turns. */
  const waiting = new Map<string, (() => void)[]>();
  const held = new Map<string, number>();
  const seenMs = new Map<string, number>();
  let free = places;

  function share(): number {
    const sinceMs = nowMs() - recentMs;
    for (const [key, atMs] of seenMs) if (atMs < sinceMs && !held.has(key)) seenMs.delete(key);
    return seenMs.size <= 1 ? places : Math.max(1, Math.floor(places / (4 * seenMs.size)));
  }

  const mayTake = (key: string) => free > 0 && (held.get(key) ?? 0) < share();

  function take(key: string): void {
    free -= 1;
    held.set(key, (held.get(key) ?? 0) + 1);
    // To the end: the oldest stand first.
    seenMs.delete(key);
    seenMs.set(key, nowMs());
  }

  function give(key: string): void {
    free += 1;
    const left = held.get(key)! - 1;
    if (left > 0) held.set(key, left);
    else held.delete(key);
    serve();
  }

  /** One each, round after round, while there is a place that somebody may have. */
  function serve(): void {
    for (let served = true; served; ) {
      served = false;
      for (const [key, line] of [...waiting]) {
        if (!mayTake(key)) continue;
        const go = line.shift()!;
        waiting.delete(key);
        if (line.length > 0) waiting.set(key, line);
        take(key);
        go();
        served = true;
      }
    }
  }

  const once = (key: string) => {
    const sinceMs = nowMs();
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const restMs = share() < places ? restShare * (nowMs() - sinceMs) : 0;
      if (restMs > 0) setTimeout(give, restMs, key);
      else give(key);
    };
  };

  return {
    async take(key, signal) {
      signal.throwIfAborted();
      if (!waiting.has(key) && mayTake(key)) {
        take(key);
        return once(key);
      }
      await new Promise<void>((resolve, reject) => {
        const line = waiting.get(key) ?? [];
        const go = () => {
          signal.removeEventListener("abort", leave);
          resolve();
        };
        const leave = () => {
          const mine = waiting.get(key);
          const at = mine?.indexOf(go) ?? -1;
          if (at < 0) return;
          mine!.splice(at, 1);
          if (mine!.length === 0) waiting.delete(key);
          reject(signal.reason);
        };
        line.push(go);
        waiting.set(key, line);
        signal.addEventListener("abort", leave, { once: true });
      });
      return once(key);
    },
  };
}
