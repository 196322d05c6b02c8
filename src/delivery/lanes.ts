/** Which lanes the loop serves next: round-robin, within the room each destination and the whole node have. Pure; time is an argument. */
import type { Lane } from "../store/lease.ts";

export type LaneLimits = {
  /** Recipients in hand at one destination. */
  perDestination: number;
  /** The same at one that could not be reached lately: time-outs there must not use up the room of all. */
  onTrial: number;
  /** Recipients in hand on this node. */
  total: number;
  /** Rows of one lane in one turn: small enough that nobody waits long behind it. */
  perTurn: number;
};

type Known = Lane & { dueAtMs: number };

const trialsKept = 10_000;

export function createLanes(limits: LaneLimits) {
  /** In serving order: who was served goes to the end. */
  let order = new Map<string, Known>();
  const inHand = new Map<string, number>();
  const onTrial = new Set<string>();
  let total = 0;
  const roomAt = (destination: string) =>
    (onTrial.has(destination) ? limits.onTrial : limits.perDestination) - (inHand.get(destination) ?? 0);

  return {
    /** What the store knows now. Lanes keep their place in the order; new ones come first, since nobody has served them yet. */
    replace(found: readonly (Lane & { dueInMs: number })[], nowMs: number): void {
      const fresh = new Map(
        found.map((lane) => [
          keyOf(lane),
          { destination: lane.destination, workspaceId: lane.workspaceId, dueAtMs: nowMs + lane.dueInMs },
        ]),
      );
      const next = new Map<string, Known>();
      for (const [key, lane] of fresh) if (!order.has(key)) next.set(key, lane);
      for (const key of order.keys()) {
        const lane = fresh.get(key);
        if (lane) next.set(key, lane);
      }
      order = next;
    },

    /** Lanes to lease from and how many rows of each, at most `count` lanes. */
    pick(nowMs: number, count: number): (Lane & { quota: number })[] {
      const picked: (Lane & { quota: number })[] = [];
      const room = new Map<string, number>();
      let left = limits.total - total;
      for (const [key, lane] of [...order]) {
        if (picked.length >= count || left <= 0) break;
        if (lane.dueAtMs > nowMs) continue;
        const here = room.get(lane.destination) ?? roomAt(lane.destination);
        const quota = Math.min(here, left, limits.perTurn);
        if (quota <= 0) continue;
        room.set(lane.destination, here - quota);
        left -= quota;
        picked.push({ destination: lane.destination, workspaceId: lane.workspaceId, quota });
        order.delete(key);
        order.set(key, lane);
      }
      return picked;
    },

    /** After a lease: a lane that gave less than asked for is empty until the store is looked at again. */
    leased(picked: readonly (Lane & { quota: number })[], rows: readonly Lane[]): void {
      const got = new Map<string, number>();
      for (const row of rows) {
        got.set(keyOf(row), (got.get(keyOf(row)) ?? 0) + 1);
        inHand.set(row.destination, (inHand.get(row.destination) ?? 0) + 1);
      }
      total += rows.length;
      for (const lane of picked) if ((got.get(keyOf(lane)) ?? 0) < lane.quota) order.delete(keyOf(lane));
    },

    finished(destination: string, count: number): void {
      const left = (inHand.get(destination) ?? 0) - count;
      if (left > 0) inHand.set(destination, left);
      else inHand.delete(destination);
      total -= count;
    },

    /** Whether a destination's server was there. One that was not is on trial until it is. */
    heard(destination: string, reached: boolean | undefined): void {
      if (reached === undefined) return;
      onTrial.delete(destination);
      if (reached) return;
      onTrial.add(destination);
      const [oldest] = onTrial;
      if (onTrial.size > trialsKept) onTrial.delete(oldest!);
    },

    /** When the next lane with room becomes due; undefined when none is known to. A full one waits for `finished`, not for time. */
    nextDueMs(): number | undefined {
      if (total >= limits.total) return undefined;
      let next: number | undefined;
      for (const lane of order.values()) {
        if (roomAt(lane.destination) <= 0) continue;
        if (next === undefined || lane.dueAtMs < next) next = lane.dueAtMs;
      }
      return next;
    },

    inHand: () => total,
  };
}

function keyOf(lane: Lane): string {
  return `${lane.destination} ${lane.workspaceId}`;
}
