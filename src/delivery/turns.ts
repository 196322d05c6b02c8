/** A few places that many want: those who wait are served by turns of their keys, so that one who asks a thousand times waits behind
 * himself and nobody else does. Attempts take turns by workspace for composing and signing, which is what the processor limits. */

export type Turns = {
  /** Resolves to the way to give the place back. */
  take(key: string, signal: AbortSignal): Promise<() => void>;
};

export function createTurns(places: number): Turns {
  /** In the order of turns. */
  const waiting = new Map<string, (() => void)[]>();
  let free = places;

  function give(): void {
    const [next] = waiting;
    if (!next) {
      free += 1;
      return;
    }
    const [key, line] = next;
    waiting.delete(key);
    const go = line.shift()!;
    if (line.length > 0) waiting.set(key, line);
    go();
  }

  const once = () => {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      give();
    };
  };

  return {
    async take(key, signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return once();
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
      return once();
    },
  };
}
