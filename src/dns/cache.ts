/** The resolver's cache: keeps DNS answers for their TTL and drops the least recently used ones first. */
import { canonicalName, type Lookup, type LookupType } from "./record.ts";

export type LookupCache = {
  get<T extends LookupType>(name: string, type: T): Lookup<T> | undefined;
  put<T extends LookupType>(name: string, type: T, lookup: Lookup<T>): void;
  readonly size: number;
};

// RFC 8767 §4 and RFC 2308 §5 leave the upper bounds to us: a mistake in a zone is cached no longer than this.
const maxSeconds = 3600;
const maxNegativeSeconds = 900;
/** A TLSA record may hold a whole certificate, and an answer many of them. Larger answers are looked up again each time. */
const maxTlsaBytes = 8 * 1024;

export function createLookupCache(options: { entries: number; now: () => number }): LookupCache {
  const entries = new Map<string, { lookup: Lookup; until: number }>();
  const keyOf = (name: string, type: LookupType): string => `${canonicalName(name)} ${type}`;
  return {
    get<T extends LookupType>(name: string, type: T) {
      const key = keyOf(name, type);
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      if (entry.until <= options.now()) return undefined;
      entries.set(key, entry);
      return entry.lookup as Lookup<T>;
    },
    put(name, type, lookup) {
      // Failures are not cached: the next lookup tries again.
      if (lookup.kind === "servfail" || lookup.kind === "timeout") return;
      const key = keyOf(name, type);
      entries.delete(key);
      const limit = lookup.kind === "found" ? maxSeconds : maxNegativeSeconds;
      const seconds = Math.min(lookup.ttlSeconds, limit);
      if (seconds <= 0 || isLarge(lookup)) return;
      entries.set(key, { lookup, until: options.now() + seconds * 1000 });
      for (const oldest of entries.keys()) {
        if (entries.size <= options.entries) break;
        entries.delete(oldest);
      }
    },
    get size() {
      return entries.size;
    },
  };
}

function isLarge(lookup: Lookup): boolean {
  if (lookup.kind !== "found") return false;
  let bytes = 0;
  for (const record of lookup.records) if (record.type === "TLSA") bytes += 64 + record.data.length;
  return bytes > maxTlsaBytes;
}
