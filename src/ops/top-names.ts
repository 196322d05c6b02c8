/** A bounded set of label values for metrics: the names used most keep a label of their own, all others share `other`. Strangers can
 * name any number of receivers; without a bound each would stay in memory and in every answer of /metrics. */

export type TopNamesOptions = {
  /** Label values at most, `other` not counted. */
  limit: number;
  /** Names whose use is counted; past this, counts are halved and rare names forgotten. */
  candidates: number;
  /** How often the ranking may change. Each change starts a new series in Prometheus. */
  everyMs: number;
  /** The name has lost its label: its series can go. */
  onDropped(name: string): void;
};

export const otherName = "other";

/** A contender needs so many uses, and twice those of the name that it replaces. */
const usesToEnter = 10;

export function createTopNames(options: TopNamesOptions) {
  const labelled = new Set<string>();
  let uses = new Map<string, number>();
  let rankedAtMs: number | undefined;

  function rank(nowMs: number): void {
    rankedAtMs = nowMs;
    const usesOf = (name: string) => uses.get(name) ?? 0;
    const kept = [...labelled].sort((a, b) => usesOf(a) - usesOf(b));
    const contenders = [...uses.keys()].filter((name) => !labelled.has(name)).sort((a, b) => usesOf(b) - usesOf(a));
    for (const [i, weakest] of kept.entries()) {
      const contender = contenders[i];
      if (contender === undefined || usesOf(contender) < Math.max(usesToEnter, 2 * usesOf(weakest))) break;
      labelled.delete(weakest);
      labelled.add(contender);
      options.onDropped(weakest);
    }
    halve();
  }

  function halve(): void {
    uses = new Map([...uses].map(([name, count]) => [name, count / 2] as const).filter(([, count]) => count >= 1));
  }

  return {
    /** The label for one use of this name. */
    labelOf(name: string, nowMs: number): string {
      rankedAtMs ??= nowMs;
      if (nowMs - rankedAtMs >= options.everyMs) rank(nowMs);
      if (uses.size >= options.candidates && !uses.has(name)) halve();
      if (uses.size < options.candidates || uses.has(name)) uses.set(name, (uses.get(name) ?? 0) + 1);
      if (labelled.size < options.limit) labelled.add(name);
      return labelled.has(name) ? name : otherName;
    },
  };
}
