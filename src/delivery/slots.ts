/** Counts the recipients in hand on this node, and limits them by site and workspace. Waiting for a receiver does not take a working slot,
 * so that receivers that hang do not stop other mail. Pure; the schedule uses it, watch.ts reports who waits. */
import { leftFor } from "../shares/share.ts";

export type SlotLimits = {
  /** Recipients that are being composed, signed or sent. */
  working: number;
  /** Working recipients at unproven sites. */
  opening: number;
  /** Recipients in hand, whether they work or wait. Each uses at most one socket. */
  sockets: number;
};

/** Whose recipients: `hesitant` sites have not answered yet, or have stopped answering. */
export type Owner = { site: string; workspaceId: string; hesitant: boolean };

export type SlotCounts = { working: number; waiting: number; hesitant: number };

type Entry = Owner & { epoch: number; waiting: boolean };

/** The part that one holder may take (see leftFor): most of the working slots, half of the sockets for hesitant sites. */
const factors = { working: 3, site: 1, sockets: 3, hesitant: 1 };

export function createSlots<Row extends object>(limits: SlotLimits) {
  const entries = new Map<Row, Entry>();
  const bySite = new Map<string, Set<Entry>>();
  const all = createTally();
  const working = createTally();
  const opening = createTally();
  const hesitant = createTally();
  let planned: (() => void)[] = [];

  function count(entry: Owner & { waiting: boolean }, n: number): void {
    all.add(entry, n);
    if (entry.hesitant) hesitant.add(entry, n);
    if (entry.waiting) return;
    working.add(entry, n);
    if (entry.hesitant) opening.add(entry, n);
  }

  function change(entry: Entry, changed: Partial<Entry>): void {
    count(entry, -1);
    Object.assign(entry, changed);
    count(entry, 1);
  }

  const hesitantLeft = (workspaceId: string) =>
    leftFor({
      limit: limits.sockets / 2,
      used: hesitant.total(),
      held: hesitant.ofWorkspace(workspaceId),
      factor: factors.hesitant,
    });

  return {
    /** How many more recipients may be leased. */
    left(owner: Owner): number {
      const { site, workspaceId } = owner;
      const workingUsed = { limit: limits.working, used: working.total() };
      const left = Math.min(
        leftFor({ ...workingUsed, held: working.ofWorkspace(workspaceId), factor: factors.working }),
        leftFor({ ...workingUsed, held: working.ofSite(site), factor: factors.site }),
        leftFor({
          limit: limits.sockets,
          used: all.total(),
          held: all.ofWorkspace(workspaceId),
          factor: factors.sockets,
        }),
      );
      if (!owner.hesitant) {
        // A workspace with too many stuck recipients gets one recipient at a time at each of its other sites.
        return hesitantLeft(workspaceId) > 0 ? left : Math.min(left, 1 - Math.min(1, all.ofSite(site)));
      }
      const held = opening.ofWorkspace(workspaceId);
      const openingLeft = leftFor({ limit: limits.opening, used: opening.total(), held, factor: factors.working });
      return Math.min(left, openingLeft, hesitantLeft(workspaceId));
    },
    /** Counts recipients that are picked but not leased yet, until `endPlan`. */
    plan(owner: Owner, n: number): void {
      const entry = { ...owner, waiting: false };
      count(entry, n);
      planned.push(() => count(entry, -n));
    },
    endPlan(): void {
      for (const undo of planned) undo();
      planned = [];
    },

    take(row: Row, owner: Owner & { epoch: number }): void {
      const entry = { ...owner, waiting: false };
      entries.set(row, entry);
      const ofSite = bySite.get(owner.site) ?? new Set();
      bySite.set(owner.site, ofSite.add(entry));
      count(entry, 1);
    },
    /** Undefined for a row that was not taken. */
    give(row: Row): { site: string; epoch: number } | undefined {
      const entry = entries.get(row);
      if (!entry) return undefined;
      entries.delete(row);
      const ofSite = bySite.get(entry.site)!;
      ofSite.delete(entry);
      if (ofSite.size === 0) bySite.delete(entry.site);
      count(entry, -1);
      return entry;
    },
    siteOf: (row: Row) => entries.get(row)?.site,

    setWaiting(rows: readonly Row[], waiting: boolean): void {
      for (const row of rows) {
        const entry = entries.get(row);
        if (entry) change(entry, { waiting });
      }
    },
    /** For all recipients in hand of a site. */
    setHesitant(site: string, isHesitant: boolean): void {
      for (const entry of bySite.get(site) ?? []) change(entry, { hesitant: isHesitant });
    },

    isFull: () => working.total() >= limits.working || all.total() >= limits.sockets,
    total: () => all.total(),
    counts(): SlotCounts {
      return { working: working.total(), waiting: all.total() - working.total(), hesitant: hesitant.total() };
    },
  };
}

/** A count with parts by workspace and by site. */
function createTally() {
  const workspaces = new Map<string, number>();
  const sites = new Map<string, number>();
  let total = 0;
  const add = (map: Map<string, number>, key: string, n: number) => {
    const sum = (map.get(key) ?? 0) + n;
    if (sum === 0) map.delete(key);
    else map.set(key, sum);
  };
  return {
    add({ site, workspaceId }: Owner, n: number): void {
      total += n;
      add(workspaces, workspaceId, n);
      add(sites, site, n);
    },
    total: () => total,
    ofWorkspace: (id: string) => workspaces.get(id) ?? 0,
    ofSite: (site: string) => sites.get(site) ?? 0,
  };
}
