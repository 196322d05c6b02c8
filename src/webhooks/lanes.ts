/** Which webhooks are served next, and how much of each: in turn, with room that an endpoint earns by answering and loses by failing,
 * so that endpoints that hang never hold what the others need. Pure; time is an argument. */
import type { WebhookLane } from "../store/webhook-lease.ts";

export type LaneLimits = {
  /** Requests under way at one endpoint. */
  perEndpoint: number;
  /** Requests under way on this node. */
  total: number;
  /** Of these, at endpoints that only fail. */
  failingTotal: number;
  /** Deliveries of one webhook in one turn. */
  perTurn: number;
};

export type Lane = Pick<WebhookLane, "workspaceId" | "webhookId">;
export type Picked = Lane & { quota: number };

/** What an endpoint may have under way before anything is known of it. */
const firstRoom = 4;
/** What is known of endpoints that have nothing waiting is kept for so many of them. */
const roomsKept = 10_000;

export function createLanes(limits: LaneLimits) {
  /** In serving order: who was served goes to the end. */
  let order = new Map<string, Lane & { dueAtMs: number }>();
  const inHand = new Map<string, number>();
  /** One more for each success, half for each failure; at one, an endpoint counts as failing. */
  const rooms = new Map<string, number>();
  let total = 0;

  const roomOf = (webhookId: string) => rooms.get(webhookId) ?? Math.min(firstRoom, limits.perEndpoint);
  const isFailing = (webhookId: string) => roomOf(webhookId) <= 1;

  function setRoom(webhookId: string, room: number): void {
    rooms.delete(webhookId);
    rooms.set(webhookId, room);
    if (rooms.size > roomsKept) rooms.delete(rooms.keys().next().value!);
  }

  function failingInHand(): number {
    let sum = 0;
    for (const [webhookId, count] of inHand) if (isFailing(webhookId)) sum += count;
    return sum;
  }

  return {
    /** What the store knows now. Lanes keep their place; new ones come first, since nobody has served them yet. */
    replace(found: readonly WebhookLane[], nowMs: number): void {
      const fresh = new Map<string, Lane & { dueAtMs: number }>();
      for (const { workspaceId, webhookId, dueInMs, failing } of found) {
        fresh.set(webhookId, { workspaceId, webhookId, dueAtMs: nowMs + dueInMs });
        if (failing && !rooms.has(webhookId)) setRoom(webhookId, 1);
      }
      const next = new Map([...fresh].filter(([webhookId]) => !order.has(webhookId)));
      for (const webhookId of order.keys()) {
        const lane = fresh.get(webhookId);
        if (lane) next.set(webhookId, lane);
      }
      order = next;
    },

    /** Webhooks to lease for and how many deliveries of each, at most `count` webhooks. */
    pick(nowMs: number, count: number): Picked[] {
      const picked: Picked[] = [];
      let left = limits.total - total;
      let failingLeft = limits.failingTotal - failingInHand();
      for (const [webhookId, lane] of [...order]) {
        if (picked.length >= count || left <= 0) break;
        if (lane.dueAtMs > nowMs) continue;
        const failing = isFailing(webhookId);
        const room = roomOf(webhookId) - (inHand.get(webhookId) ?? 0);
        const quota = Math.min(room, left, limits.perTurn, failing ? failingLeft : left);
        if (quota <= 0) continue;
        left -= quota;
        if (failing) failingLeft -= quota;
        picked.push({ workspaceId: lane.workspaceId, webhookId, quota });
        order.delete(webhookId);
        order.set(webhookId, lane);
      }
      return picked;
    },

    /** After a lease: a webhook that gave less than asked for is empty until something is heard of it again. */
    leased(picked: readonly Picked[], rows: readonly Lane[]): void {
      const got = new Map<string, number>();
      for (const { webhookId } of rows) {
        got.set(webhookId, (got.get(webhookId) ?? 0) + 1);
        inHand.set(webhookId, (inHand.get(webhookId) ?? 0) + 1);
      }
      total += rows.length;
      for (const { webhookId, quota } of picked) if ((got.get(webhookId) ?? 0) < quota) order.delete(webhookId);
    },

    /** One request has ended; undefined says nothing about the endpoint. */
    finished(webhookId: string, worked: boolean | undefined): void {
      const left = (inHand.get(webhookId) ?? 0) - 1;
      if (left > 0) inHand.set(webhookId, left);
      else inHand.delete(webhookId);
      total -= 1;
      if (worked === undefined) return;
      const room = roomOf(webhookId);
      setRoom(webhookId, worked ? Math.min(room + 1, limits.perEndpoint) : Math.max(Math.floor(room / 2), 1));
    },

    /** Something of this webhook may have become due just now. */
    stir(lane: Lane, nowMs: number): void {
      const { workspaceId, webhookId } = lane;
      order.set(webhookId, { workspaceId, webhookId, dueAtMs: nowMs });
    },

    /** When the next webhook becomes due; undefined when none is known to. */
    nextDueMs(): number | undefined {
      let next: number | undefined;
      for (const { dueAtMs } of order.values()) if (next === undefined || dueAtMs < next) next = dueAtMs;
      return next;
    },

    inHand: () => total,
  };
}
