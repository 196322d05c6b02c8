/** Which lanes the loop serves next. A lane is a site for a workspace: lanes take turns, and within one its destinations do. How much a
 * site may have in hand is the pace's to say; how much the node may, is said here. Pure; time is an argument. */
import type { Lane } from "../store/lease.ts";

export type LaneLimits = {
  /** Recipients in hand on this node. */
  total: number;
  /** Of these, at sites that have not answered yet or not lately: time-outs there must not use up the room of all. */
  unproven: number;
  /** Rows of one lane in one turn: small enough that nobody waits long behind it. */
  perTurn: number;
};

/** What is asked of the sites. */
export type Pace = {
  /** Undefined while it is not known. */
  siteOf(destination: string): string | undefined;
  room(site: string, nowMs: number): number;
  roomAtMs(site: string, nowMs: number): number | undefined;
  unproven(site: string): boolean;
  took(site: string, recipients: number): void;
  gave(site: string, recipients: number): void;
};

/** One turn: rows of one destination, under the site that they count for. */
export type Picked = Lane & { site: string; quota: number };
type Later = Lane & { dueAtMs: number };
type Ready = { site: string; workspaceId: string; destinations: Set<string> };

export function createLanes(limits: LaneLimits, pace: Pace) {
  /** In serving order: who was served goes to the end. */
  let ready = new Map<string, Ready>();
  /** Due, but their site is not known yet. */
  let homeless: Lane[] = [];
  /** Those that are due first come first. */
  let later: Later[] = [];
  /** What is in hand, under the site it was taken for: a destination may move meanwhile. */
  const inHand = new Map<Lane, { site: string; onTrial: boolean }>();
  let total = 0;
  let unproven = 0;

  function place(lane: Lane): boolean {
    const site = pace.siteOf(lane.destination);
    if (site === undefined) return false;
    const key = `${site} ${lane.workspaceId}`;
    const known = ready.get(key);
    if (known) known.destinations.add(lane.destination);
    else ready.set(key, { site, workspaceId: lane.workspaceId, destinations: new Set([lane.destination]) });
    return true;
  }

  function promote(nowMs: number): void {
    while (later[0] && later[0].dueAtMs <= nowMs) homeless.push(later.shift()!);
    homeless = homeless.filter((lane) => !place(lane));
  }

  return {
    /** What the store knows now. Lanes keep their place in the order; new ones come first, since nobody has served them yet. */
    replace(found: readonly (Lane & { dueInMs: number })[], nowMs: number): void {
      const before = ready;
      ready = new Map();
      later = found
        .filter(({ dueInMs }) => dueInMs > 0)
        .map(({ destination, workspaceId, dueInMs }) => ({ destination, workspaceId, dueAtMs: nowMs + dueInMs }))
        .sort((a, b) => a.dueAtMs - b.dueAtMs);
      homeless = found.filter(({ dueInMs }) => dueInMs <= 0);
      promote(nowMs);
      const fresh = ready;
      ready = new Map();
      for (const [key, lane] of fresh) if (!before.has(key)) ready.set(key, lane);
      for (const [key, old] of before) {
        const lane = fresh.get(key);
        if (!lane) continue;
        // Destinations keep their turns too.
        const order = [...lane.destinations].filter((one) => !old.destinations.has(one));
        for (const one of old.destinations) if (lane.destinations.has(one)) order.push(one);
        ready.set(key, { ...lane, destinations: new Set(order) });
      }
    },

    /** Somebody says that there is mail: a lane that was empty is looked at at once, and first. */
    hint(lanes: readonly Lane[], nowMs: number): void {
      const before = ready;
      ready = new Map();
      homeless.push(...lanes);
      promote(nowMs);
      for (const [key, lane] of before) {
        const hinted = ready.get(key);
        if (hinted) {
          // It keeps its place: whoever says that there is mail most often must not come first for it.
          ready.delete(key);
          for (const one of hinted.destinations) lane.destinations.add(one);
        }
        ready.set(key, lane);
      }
    },

    /** Lanes to lease from and how many rows of each, at most `count`. */
    pick(nowMs: number, count: number): Picked[] {
      promote(nowMs);
      const picked: Picked[] = [];
      const spent = new Map<string, number>();
      let left = limits.total - total;
      let trial = limits.unproven - unproven;
      for (const [key, lane] of [...ready]) {
        if (picked.length >= count || left <= 0) break;
        const { site, workspaceId } = lane;
        const onTrial = pace.unproven(site);
        const here = pace.room(site, nowMs) - (spent.get(site) ?? 0);
        const quota = Math.min(here, left, limits.perTurn, onTrial ? trial : here);
        if (quota <= 0) continue;
        const [destination] = lane.destinations;
        spent.set(site, (spent.get(site) ?? 0) + quota);
        left -= quota;
        if (onTrial) trial -= quota;
        picked.push({ destination: destination!, workspaceId, site, quota });
        lane.destinations.delete(destination!);
        lane.destinations.add(destination!);
        ready.delete(key);
        ready.set(key, lane);
      }
      return picked;
    },

    /** After a lease: a destination that gave less than asked for is empty until the store is looked at again. */
    leased(picked: readonly Picked[], rows: readonly Lane[]): void {
      const turns = new Map(
        picked.map((lane) => [keyOf(lane), { ...lane, got: 0, onTrial: pace.unproven(lane.site) }]),
      );
      for (const row of rows) {
        const turn = turns.get(keyOf(row))!;
        turn.got += 1;
        inHand.set(row, { site: turn.site, onTrial: turn.onTrial });
        pace.took(turn.site, 1);
        total += 1;
        if (turn.onTrial) unproven += 1;
      }
      for (const { site, workspaceId, destination, got, quota } of turns.values()) {
        const lane = ready.get(`${site} ${workspaceId}`);
        if (got >= quota || !lane) continue;
        lane.destinations.delete(destination);
        if (lane.destinations.size === 0) ready.delete(`${site} ${workspaceId}`);
      }
    },

    /** The site that a leased row counts for. */
    siteOf: (row: Lane) => inHand.get(row)?.site,

    /** Rows that `leased` was given are done with. */
    finished(rows: readonly Lane[]): void {
      for (const row of rows) {
        const held = inHand.get(row);
        if (!held) continue;
        inHand.delete(row);
        pace.gave(held.site, 1);
        total -= 1;
        if (held.onTrial) unproven -= 1;
      }
    },

    /** When time alone gives something to do; undefined when something has to happen first. */
    nextDueMs(nowMs: number): number | undefined {
      if (total >= limits.total) return undefined;
      let next = later[0]?.dueAtMs;
      for (const { site } of ready.values()) {
        const at = pace.roomAtMs(site, nowMs);
        if (at !== undefined && (next === undefined || at < next)) next = at;
      }
      return next;
    },

    /** Lanes that are due and whose site is left alone. */
    waiting(nowMs: number): Lane[] {
      return [...ready.values()]
        .filter(({ site }) => (pace.roomAtMs(site, nowMs) ?? 0) > nowMs)
        .flatMap(({ workspaceId, destinations }) =>
          [...destinations].map((destination) => ({ destination, workspaceId })),
        );
    },

    inHand: () => total,
  };
}

function keyOf(lane: Lane): string {
  return `${lane.destination} ${lane.workspaceId}`;
}
