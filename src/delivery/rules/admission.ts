/** Decides which unknown wordings get a row when there are more than fit, so that no receiver takes the rows of others. ../store/wordings.ts
 * calls it. */

export type WordingLimits = { total: number; perSite: number };

export const wordingLimits: WordingLimits = { total: 1000, perSite: 10 };

export type Admission<Row> = {
  /** Rows to insert. */
  inserted: Row[];
  /** How many of its least recently seen rows each site loses first. */
  evicted: Map<string, number>;
};

/**
 * `stored`: how many rows each site has, the site that was not seen for longest first. A site with all its rows loses its own oldest one.
 * When the table is full, the site with the most rows loses one; of several, the first does. A new row's site that has as many itself
 * loses its own: each site gets an equal share.
 */
export function admit<Row extends { site: string }>(
  stored: ReadonlyMap<string, number>,
  rows: readonly Row[],
  limits: WordingLimits = wordingLimits,
): Admission<Row> {
  const counts = new Map(stored);
  const inserted: Row[] = [];
  const evicted = new Map<string, number>();
  let total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const isFresh = new Map<string, number>();
  for (const row of rows) {
    const own = counts.get(row.site) ?? 0;
    const fresh = isFresh.get(row.site) ?? 0;
    // One flush replaces each stored row of a site at most once, and never a row of the same flush.
    if (fresh >= limits.perSite) continue;
    const victim = own >= limits.perSite ? row.site : total >= limits.total ? largestOf(counts, row.site) : undefined;
    if (victim !== undefined) {
      const left = (counts.get(victim) ?? 0) - (isFresh.get(victim) ?? 0);
      if (left <= 0) continue;
      evicted.set(victim, (evicted.get(victim) ?? 0) + 1);
      counts.set(victim, counts.get(victim)! - 1);
      total -= 1;
    }
    counts.set(row.site, (counts.get(row.site) ?? 0) + 1);
    isFresh.set(row.site, fresh + 1);
    total += 1;
    inserted.push(row);
  }
  return { inserted, evicted };
}

/** `preferred`, if no site has more rows. */
function largestOf(counts: ReadonlyMap<string, number>, preferred: string): string {
  let largest = preferred;
  for (const [site, count] of counts) if (count > (counts.get(largest) ?? 0)) largest = site;
  return largest;
}
