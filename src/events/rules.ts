/**
 * Cursors and the cuts of an event log. A restore or a failover can lose the end of the log; the events written afterwards get the same
 * numbers again. Each such cut has a name, and the cursor of an event after a cut contains it: `89-88kqzvtw` is event 89 after the cut that
 * kept 88 events. Before the first cut a cursor is a plain number. Pure functions; docs/decisions/0029 has the reasons. Called by service.ts,
 * follower.ts and webhooks/service.ts.
 */

/** The names of a log's cuts, oldest first. A name is the last number that both logs share, and letters that make it unique. */
export type Cuts = readonly string[];

export type Cursor = {
  number: bigint;
  /** The newest cut that its reader knows; undefined: none. */
  cut: string | undefined;
};

/** Longer numbers than any log has, so that a number that is too large is out of range and not malformed. */
const cursorForm = /^(\d{1,100})(?:-(\d{1,19}[a-z]{4,16}))?$/;

/** Undefined when the text is not a cursor. */
export function parseCursor(text: string): Cursor | undefined {
  const match = cursorForm.exec(text);
  return match ? { number: BigInt(match[1]!), cut: match[2] } : undefined;
}

export function cursorText(number: bigint, cuts: Cuts): string {
  const cut = cuts.findLast((one) => sharedLast(one) < number);
  return cut === undefined ? number.toString() : `${number}-${cut}`;
}

/** The last number that the log of a cursor shares with the current log; undefined if nothing of it was lost. */
export function lastShared({ cut }: Pick<Cursor, "cut">, cuts: Cuts): bigint | undefined {
  const known = cut === undefined ? -1 : cuts.lastIndexOf(cut);
  if (cut === undefined || known >= 0) return smallest(cuts.slice(known + 1).map(sharedLast));
  // The cut itself was lost: a backup from before it was restored.
  return smallest([...cuts, cut].map(sharedLast));
}

/** The same for a reader that followed the log while it had the cuts `before`. */
export function lastSharedSince(before: Cuts, cuts: Cuts): bigint | undefined {
  const firstOther = before.findIndex((name, i) => cuts[i] !== name);
  const common = firstOther < 0 ? before.length : firstOther;
  return smallest([...before.slice(common), ...cuts.slice(common)].map(sharedLast));
}

/** Whether the newer list of cuts adds to the older one. Otherwise a backup from before the last known cut was restored. */
export function isContinued(before: Cuts, cuts: Cuts): boolean {
  return cuts.length > before.length && before.every((name, i) => cuts[i] === name);
}

export function isSameLog(a: Cuts, b: Cuts): boolean {
  return a === b || (a.length === b.length && a.every((name, i) => b[i] === name));
}

function sharedLast(cut: string): bigint {
  return BigInt(/^\d+/.exec(cut)![0]);
}

function smallest(numbers: readonly bigint[]): bigint | undefined {
  return numbers.reduce<bigint | undefined>(
    (least, one) => (least === undefined || one < least ? one : least),
    undefined,
  );
}
