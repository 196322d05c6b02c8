/** How long deliveries took, as a histogram: it can be added up over hours and sites, and still tell the median. */

/** Upper bounds of the buckets in ms, each √2 of the one before: from 0.1 s to beyond the two days for which mail is tried. */
export const timeBounds: readonly number[] = Array.from({ length: 43 }, (_, i) => Math.round(100 * 2 ** (i / 2)));

/** The counts of each bucket; the zeros at the end are left out. */
export type Times = readonly number[];

export function addTimes(a: Times, b: Times): number[] {
  const [long, short] = a.length >= b.length ? [a, b] : [b, a];
  return long.map((count, i) => count + (short[i] ?? 0));
}

/** So many deliveries in one bucket. */
export function timesAt(bucket: number, count: number): number[] {
  const times = new Array<number>(bucket + 1).fill(0);
  times[bucket] = count;
  return times;
}

/** The time within which a share of the deliveries ended: right to the bucket, and evenly spread on the log scale within it. */
export function quantile(times: Times, share: number): number | undefined {
  const total = times.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let below = 0;
  for (const [bucket, count] of times.entries()) {
    if (count > 0 && below + count >= share * total) return within(bucket, (share * total - below) / count);
    below += count;
  }
  return undefined;
}

function within(bucket: number, part: number): number {
  const upper = timeBounds[bucket];
  const lower = timeBounds[bucket - 1];
  if (upper === undefined) return lower!;
  return Math.round(lower === undefined ? upper * part : lower * (upper / lower) ** part);
}
