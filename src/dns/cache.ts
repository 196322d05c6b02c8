/** Keeps DNS answers for as long as they may live, the least recently used go first. */
import { canonicalName, type Lookup, type LookupType } from "../mail/dns-record.ts";

export type LookupCache = {
  get<T extends LookupType>(name: string, type: T): Lookup<T> | undefined;
  put<T extends LookupType>(name: string, type: T, lookup: Lookup<T>): void;
  readonly size: number;
};

// RFC 8767 §4 and RFC 2308 §5 leave the ceilings to us: a mistake in someone's zone should not outlive these.
const longestSeconds = 3600;
const longestNegativeSeconds = 900;

export function createLookupCache(options: { entries: number; now: () => number }): LookupCache {
  const kept = new Map<string, { lookup: Lookup; until: number }>();
  const keyOf = (name: string, type: LookupType): string => `${canonicalName(name)} ${type}`;
  return {
    get<T extends LookupType>(name: string, type: T) {
      const key = keyOf(name, type);
      const entry = kept.get(key);
      if (entry === undefined) return undefined;
      kept.delete(key);
      if (entry.until <= options.now()) return undefined;
      kept.set(key, entry);
      return entry.lookup as Lookup<T>;
    },
    put(name, type, lookup) {
      // Failures are not kept: the next asker tries again.
      if (lookup.kind === "servfail" || lookup.kind === "timeout") return;
      const key = keyOf(name, type);
      kept.delete(key);
      const longest = lookup.kind === "found" ? longestSeconds : longestNegativeSeconds;
      const seconds = Math.min(lookup.ttlSeconds, longest);
      if (seconds <= 0) return;
      kept.set(key, { lookup, until: options.now() + seconds * 1000 });
      for (const oldest of kept.keys()) {
        if (kept.size <= options.entries) break;
        kept.delete(oldest);
      }
    },
    get size() {
      return kept.size;
    },
  };
}
