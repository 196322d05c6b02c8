/** The DKIM keys that our DNS server answers with. Kept for a minute, and for as long as the database is away. */
import type { Sql } from "../store/db.ts";
import { findServedKeys } from "../store/dkim-keys.ts";
import { createLoader } from "../store/loader.ts";

const keptMs = 60_000;
const keptKeys = 10_000;

export function createServedKeys(deps: {
  sql: Sql;
  nowMs?: () => number;
}): (label: string) => Promise<string | undefined> {
  const { nowMs = Date.now } = deps;
  const load = createLoader<string, string | undefined>((labels) => findServedKeys(deps.sql, labels));
  const kept = new Map<string, { key: string; untilMs: number }>();

  return async (label) => {
    const known = kept.get(label);
    if (known && known.untilMs > nowMs()) return known.key;
    try {
      const key = await load(label);
      kept.delete(label);
      // What is not there is not kept: anybody may ask for anything, and a new domain is served at once.
      if (key !== undefined) kept.set(label, { key, untilMs: nowMs() + keptMs });
      for (const oldest of kept.keys()) {
        if (kept.size <= keptKeys) break;
        kept.delete(oldest);
      }
      return key;
    } catch (error) {
      if (known) return known.key;
      throw error;
    }
  };
}
