/** Shares a few slots between keys: waiting calls are served round-robin by key, so that a key with a thousand calls delays only its own.
 * Attempts use it to share composing and signing, which are CPU-bound, between workspaces. */

export type Turns = {
  /** Resolves to a function that releases the slot. Of work with a higher `cost`, a key does fewer at the same time. */
  take(key: string, signal: AbortSignal, cost?: number): Promise<() => void>;
};

/** A key that took a slot within this window counts as active. The window covers sending an email and writing its event. */
const recentMs = 100;
/** While several keys are active, a released slot pauses for this many times the time it was in use. */
const pauseFactor = 1;

/**
 * A single active key may use every slot. With several active keys, each gets at most a quarter of an equal share, and a released slot
 * pauses for as long as it was in use. The CPU is then idle part of the time, so that the few emails of a small tenant are processed as
 * fast as without a flooding tenant.
 */
export function createTurns(slots: number, nowMs = () => performance.now()): Turns {
  /** In serving order. */
  const waiting = new Map<string, { proceed: () => void; cost: number }[]>();
  const inUse = new Map<string, number>();
  /** When each active key took its last slot, oldest first. */
  const takenAtMs = new Map<string, number>();
  let free = slots;

  /** Slots per key. */
  function share(): number {
    const sinceMs = nowMs() - recentMs;
    for (const [key, atMs] of takenAtMs) if (atMs < sinceMs && !inUse.has(key)) takenAtMs.delete(key);
    return takenAtMs.size <= 1 ? slots : Math.max(1, Math.floor(slots / (4 * takenAtMs.size)));
  }

  const mayTake = (key: string, cost: number) =>
    free > 0 && (inUse.get(key) ?? 0) < Math.max(1, Math.floor(share() / cost));

  function take(key: string): void {
    free -= 1;
    inUse.set(key, (inUse.get(key) ?? 0) + 1);
    takenAtMs.delete(key);
    takenAtMs.set(key, nowMs());
  }

  function release(key: string): void {
    free += 1;
    const left = inUse.get(key)! - 1;
    if (left > 0) inUse.set(key, left);
    else inUse.delete(key);
    serve();
  }

  /** One slot per key and round, while a waiting key may take one. */
  function serve(): void {
    for (let served = true; served; ) {
      served = false;
      for (const [key, calls] of [...waiting]) {
        if (!mayTake(key, calls[0]!.cost)) continue;
        const { proceed } = calls.shift()!;
        waiting.delete(key);
        if (calls.length > 0) waiting.set(key, calls);
        take(key);
        proceed();
        served = true;
      }
    }
  }

  /** Releases the slot on the first call only. */
  const createRelease = (key: string) => {
    const sinceMs = nowMs();
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const pauseMs = share() < slots ? pauseFactor * (nowMs() - sinceMs) : 0;
      if (pauseMs > 0) setTimeout(release, pauseMs, key);
      else release(key);
    };
  };

  return {
    async take(key, signal, cost = 1) {
      signal.throwIfAborted();
      if (!waiting.has(key) && mayTake(key, cost)) {
        take(key);
        return createRelease(key);
      }
      await new Promise<void>((resolve, reject) => {
        const calls = waiting.get(key) ?? [];
        const proceed = () => {
          signal.removeEventListener("abort", cancel);
          resolve();
        };
        const cancel = () => {
          const ofKey = waiting.get(key);
          const at = ofKey?.findIndex((call) => call.proceed === proceed) ?? -1;
          if (at < 0) return;
          ofKey!.splice(at, 1);
          if (ofKey!.length === 0) waiting.delete(key);
          reject(signal.reason);
        };
        calls.push({ proceed, cost });
        waiting.set(key, calls);
        signal.addEventListener("abort", cancel, { once: true });
      });
      return createRelease(key);
    },
  };
}
