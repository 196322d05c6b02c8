/** Decides which lanes the delivery loop serves next. Lanes of one workspace at one site form a queue: the queues take turns, and so do the
 * destinations within a queue. The pace limits the rows in hand per site, slots.ts those of the node. Pure; time is an argument. */
import type { Lane } from "../emails/lane.ts";
import { createSlots, type SlotLimits } from "./slots.ts";

export type ScheduleLimits = SlotLimits & {
  /** Rows of one lane per turn. Small, so that the next lane does not wait long. */
  perTurn: number;
};

/** The limits per site, as the schedule needs them. */
export type Pace = {
  /** Undefined while the site is being looked up, on behalf of the workspace. */
  siteOf(destination: string, workspaceId: string): string | undefined;
  /** Recipients that may be leased for the site now. */
  capacity(site: string, nowMs: number): number;
  /** When time alone gives the site capacity again: the end of a back-off, or the next token of the rate limit. Otherwise undefined. */
  capacityAtMs(site: string, nowMs: number): number | undefined;
  /** The site has not answered yet, or not since it failed or stalled. */
  unproven(site: string): boolean;
  /** Returns the site's epoch, for `finished`. */
  leased(site: string, recipients: number): number;
  finished(site: string, recipients: number, epoch: number): void;
};

/** One turn of a lane: up to `quota` rows, counted for `site`. */
export type Picked = Lane & { site: string; quota: number };
type Later = Lane & { dueAtMs: number };
type SiteQueue = { site: string; workspaceId: string; destinations: Set<string> };

export function createSchedule(limits: ScheduleLimits, pace: Pace) {
  /** In serving order: a queue that was served moves to the end. */
  let ready = new Map<string, SiteQueue>();
  /** Lanes that are due but whose site is not known yet. */
  let withoutSite: Lane[] = [];
  /** Lanes that are due later, ordered by due time. */
  let later: Later[] = [];
  /** Leased rows, with the site they were leased for: the site of a destination may change before they finish. */
  const slots = createSlots<Lane>(limits);

  /** False: the site is not known yet. */
  function enqueue(lane: Lane): boolean {
    const site = pace.siteOf(lane.destination, lane.workspaceId);
    if (site === undefined) return false;
    const key = `${site} ${lane.workspaceId}`;
    const queue = ready.get(key);
    if (queue) queue.destinations.add(lane.destination);
    else ready.set(key, { site, workspaceId: lane.workspaceId, destinations: new Set([lane.destination]) });
    return true;
  }

  function enqueueDue(nowMs: number): void {
    while (later[0] && later[0].dueAtMs <= nowMs) withoutSite.push(later.shift()!);
    withoutSite = withoutSite.filter((lane) => !enqueue(lane));
  }

  return {
    /** Takes over the result of a lane search. Known queues keep their order. New ones come first, since they have not been served yet. */
    replace(found: readonly (Lane & { dueInMs: number })[], nowMs: number): void {
      const before = ready;
      ready = new Map();
      later = found
        .filter(({ dueInMs }) => dueInMs > 0)
        .map(({ destination, workspaceId, dueInMs }) => ({ destination, workspaceId, dueAtMs: nowMs + dueInMs }))
        .sort((a, b) => a.dueAtMs - b.dueAtMs);
      withoutSite = found.filter(({ dueInMs }) => dueInMs <= 0);
      enqueueDue(nowMs);
      const current = ready;
      ready = new Map();
      for (const [key, queue] of current) if (!before.has(key)) ready.set(key, queue);
      for (const [key, old] of before) {
        const queue = current.get(key);
        if (!queue) continue;
        // Destinations keep their order too.
        const order = [...queue.destinations].filter((destination) => !old.destinations.has(destination));
        for (const destination of old.destinations) if (queue.destinations.has(destination)) order.push(destination);
        ready.set(key, { ...queue, destinations: new Set(order) });
      }
    },

    /** Lanes that a wake-up names. A queue that was empty comes first. */
    hint(lanes: readonly Lane[], nowMs: number): void {
      const before = ready;
      ready = new Map();
      withoutSite.push(...lanes);
      enqueueDue(nowMs);
      for (const [key, queue] of before) {
        const hinted = ready.get(key);
        if (hinted) {
          // A known queue keeps its position: frequent wake-ups must not give a workspace earlier turns.
          ready.delete(key);
          for (const destination of hinted.destinations) queue.destinations.add(destination);
        }
        ready.set(key, queue);
      }
    },

    /** At most `count` lanes to lease from, with the number of rows for each. */
    pick(nowMs: number, count: number): Picked[] {
      enqueueDue(nowMs);
      const picked: Picked[] = [];
      const pickedAtSite = new Map<string, number>();
      for (const [key, queue] of [...ready]) {
        if (picked.length >= count || slots.isFull()) break;
        const { site, workspaceId } = queue;
        const siteLeft = pace.capacity(site, nowMs) - (pickedAtSite.get(site) ?? 0);
        if (siteLeft <= 0) continue;
        const owner = { site, workspaceId, hesitant: pace.unproven(site) };
        const quota = Math.min(siteLeft, limits.perTurn, slots.left(owner));
        if (quota <= 0) continue;
        slots.plan(owner, quota);
        const [destination] = queue.destinations;
        pickedAtSite.set(site, (pickedAtSite.get(site) ?? 0) + quota);
        picked.push({ destination: destination!, workspaceId, site, quota });
        queue.destinations.delete(destination!);
        queue.destinations.add(destination!);
        ready.delete(key);
        ready.set(key, queue);
      }
      slots.endPlan();
      return picked;
    },

    /** Takes over the rows of a lease. A lane that had fewer rows than its quota is empty until a search or a wake-up names it again. */
    leased(picked: readonly Picked[], rows: readonly Lane[]): void {
      const turns = new Map(
        picked.map((lane) => [keyOf(lane), { ...lane, leased: 0, hesitant: pace.unproven(lane.site) }]),
      );
      for (const row of rows) {
        const turn = turns.get(keyOf(row))!;
        turn.leased += 1;
        const { site, workspaceId, hesitant } = turn;
        slots.take(row, { site, workspaceId, hesitant, epoch: pace.leased(site, 1) });
      }
      for (const { site, workspaceId, destination, leased, quota } of turns.values()) {
        const queue = ready.get(`${site} ${workspaceId}`);
        if (leased >= quota || !queue) continue;
        queue.destinations.delete(destination);
        if (queue.destinations.size === 0) ready.delete(`${site} ${workspaceId}`);
      }
    },

    /** The site that a leased row counts for. */
    siteOf: slots.siteOf,
    /** Whether the rows wait for the receiver, without work on this node. */
    setWaiting: slots.setWaiting,
    /** The site stalled, or answered again: applies to its rows in hand. */
    setHesitant: slots.setHesitant,

    /** Frees the slots of rows that were passed to `leased`; ignores other rows. */
    finished(rows: readonly Lane[]): void {
      for (const row of rows) {
        const entry = slots.give(row);
        if (entry) pace.finished(entry.site, 1, entry.epoch);
      }
    },

    /** When the next lane becomes due or time alone gives a site capacity; undefined if there is no such time, or no free slot. */
    nextDueMs(nowMs: number): number | undefined {
      if (slots.isFull()) return undefined;
      let next = later[0]?.dueAtMs;
      for (const { site } of ready.values()) {
        const at = pace.capacityAtMs(site, nowMs);
        if (at !== undefined && (next === undefined || at < next)) next = at;
      }
      return next;
    },

    /** Lanes that are due but whose site is backing off or over its rate limit. */
    blocked(nowMs: number): Lane[] {
      return [...ready.values()]
        .filter(({ site }) => (pace.capacityAtMs(site, nowMs) ?? 0) > nowMs)
        .flatMap(({ workspaceId, destinations }) =>
          [...destinations].map((destination) => ({ destination, workspaceId })),
        );
    },

    inHand: slots.total,
    counts: slots.counts,
  };
}

function keyOf(lane: Lane): string {
  return `${lane.destination} ${lane.workspaceId}`;
}
