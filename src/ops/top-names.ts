/** A bounded set of metric label values: the most used names get their own label, all others share `other`. Tenants can send to any
 * number of receivers; without a bound, each would stay in memory and in every response of /metrics. */

export type TopNamesOptions = {
  /** The maximum number of label values, without `other`. */
  limit: number;
  /** The maximum number of names with a use count. Beyond it, counts are halved and rare names dropped. */
  candidates: number;
  /** How often the ranking may change. Each change starts a new series in Prometheus. */
  everyMs: number;
  /** Called when a name loses its label, so that the caller can remove its series. */
  onDropped(name: string): void;
};

const otherName = "other";

/** A contender needs at least this many uses, and twice those of the name that it replaces. */
const usesToEnter = 10;

export function createTopNames(options: TopNamesOptions) {
  const labeled = new Set<string>();
  let uses = new Map<string, number>();
  let rankedAtMs: number | undefined;

  function rank(nowMs: number): void {
    rankedAtMs = nowMs;
    const usesOf = (name: string) => uses.get(name) ?? 0;
    const kept = [...labeled].sort((a, b) => usesOf(a) - usesOf(b));
    const contenders = [...uses.keys()].filter((name) => !labeled.has(name)).sort((a, b) => usesOf(b) - usesOf(a));
    for (const [i, weakest] of kept.entries()) {
      const contender = contenders[i];
      if (contender === undefined || usesOf(contender) < Math.max(usesToEnter, 2 * usesOf(weakest))) break;
      labeled.delete(weakest);
      labeled.add(contender);
      options.onDropped(weakest);
    }
    halve();
  }

  function halve(): void {
    uses = new Map([...uses].map(([name, count]) => [name, count / 2] as const).filter(([, count]) => count >= 1));
  }

  return {
    /** Counts one use of the name and returns its label. */
    labelOf(name: string, nowMs: number): string {
      rankedAtMs ??= nowMs;
      if (nowMs - rankedAtMs >= options.everyMs) rank(nowMs);
      if (uses.size >= options.candidates && !uses.has(name)) halve();
      if (uses.size < options.candidates || uses.has(name)) uses.set(name, (uses.get(name) ?? 0) + 1);
      if (labeled.size < options.limit) labeled.add(name);
      return labeled.has(name) ? name : otherName;
    },
  };
}
