/** Decides for which webhooks the loop leases next, and how many deliveries of each. Webhooks take turns, each within its room (hand.ts).
 * Events of the log become leased deliveries directly, unless earlier deliveries of the webhook wait in the store. Pure; time is an argument. */

import { type Endpoints, initialSlots } from "./endpoints.ts";
import type { Hand, HeldRow, Rooms, WebhookRef } from "./hand.ts";
import { type FollowRooms, webhooksPerFollow } from "./store/follow.ts";
import type { WaitingWebhook } from "./store/lease.ts";

export type Picked = WebhookRef & { quota: number };

export type ScheduleLimits = {
  /** Deliveries of one webhook per turn. */
  perTurn: number;
  /** Deliveries per lease statement. */
  perLease: number;
  /** Events that a webhook reads at once when they become deliveries that wait. */
  events: number;
};

type Waiting = WebhookRef & { dueAtMs: number };

/** Deliveries may wait for an earlier event of their email that another node is posting. They are looked for this often. */
const recheckMs = 100;

export function createWebhookSchedule(
  limits: ScheduleLimits,
  {
    hand,
    endpoints,
  }: { hand: Pick<Hand<HeldRow>, "rooms" | "isDry" | "isResponsive" | "webhooks">; endpoints: Endpoints },
) {
  /** In serving order: a webhook that was served moves to the end. */
  let order = new Map<string, Waiting>();
  /** Webhooks with due deliveries in the store, as far as known. Later events wait behind them. */
  const backlog = new Map<string, WebhookRef>();
  /** Webhooks that had more events to read than their room. */
  let behind: string[] = [];

  /** 0 while the room is too small to be worth a statement. */
  function worthwhile(rooms: Rooms, webhook: WebhookRef, nowMs: number): number {
    const room = rooms.of(webhook);
    return hand.isDry(webhook.webhookId) || room * 4 >= endpoints.windowOf(webhook.webhookId, nowMs) ? room : 0;
  }

  function expect({ workspaceId, webhookId }: WebhookRef, dueAtMs: number): void {
    const known = order.get(webhookId);
    if (!known || known.dueAtMs > dueAtMs) order.set(webhookId, { workspaceId, webhookId, dueAtMs });
  }

  return {
    /** Stores the result of a search. Known webhooks keep their order. New ones come first, since they have not been served yet. */
    replace(found: readonly WaitingWebhook[], nowMs: number): void {
      const current = new Map<string, Waiting>();
      for (const { workspaceId, webhookId, dueInMs, failing } of found) {
        current.set(webhookId, { workspaceId, webhookId, dueAtMs: nowMs + dueInMs });
        if (failing) endpoints.startFailing(webhookId);
      }
      const next = new Map([...current].filter(([webhookId]) => !order.has(webhookId)));
      for (const webhookId of order.keys()) {
        const webhook = current.get(webhookId);
        if (webhook) next.set(webhookId, webhook);
      }
      order = next;
      // Only rows that are due keep new events in the log: the others may wait for hours.
      for (const webhookId of backlog.keys())
        if (!((order.get(webhookId)?.dueAtMs ?? Number.POSITIVE_INFINITY) <= nowMs)) backlog.delete(webhookId);
    },

    /** At most `count` webhooks to lease for, with the number of deliveries for each. */
    pick(nowMs: number, count: number): Picked[] {
      const picked: Picked[] = [];
      const rooms = hand.rooms(nowMs);
      let left = limits.perLease;
      for (const [webhookId, webhook] of [...order]) {
        if (picked.length >= count || left <= 0 || rooms.total() <= 0) break;
        if (webhook.dueAtMs > nowMs) continue;
        const { workspaceId } = webhook;
        const quota = Math.min(worthwhile(rooms, webhook, nowMs), limits.perTurn, left);
        if (quota <= 0) continue;
        left -= quota;
        rooms.take(webhook, quota);
        picked.push({ workspaceId, webhookId, quota });
        order.delete(webhookId);
        order.set(webhookId, webhook);
      }
      return picked;
    },

    /** The result of a lease. A webhook with fewer rows than its quota is tried again at once, because later events of the same emails may be
     * free now. One without any is empty until `recheck` or a search names it. */
    leased(picked: readonly Picked[], rows: readonly WebhookRef[]): void {
      const counts = new Map<string, number>();
      for (const { webhookId } of rows) counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
      for (const { workspaceId, webhookId, quota } of picked) {
        const count = counts.get(webhookId) ?? 0;
        if (count === 0) order.delete(webhookId);
        if (count < quota) backlog.delete(webhookId);
        else backlog.set(webhookId, { workspaceId, webhookId });
      }
    },

    /** A delivery of the webhook was settled. Others may be due now. */
    recheck(webhook: WebhookRef, nowMs: number): void {
      expect(webhook, nowMs + recheckMs);
    },

    /** A lease was given up: its row waits in the store. */
    returned(webhook: WebhookRef, nowMs: number): void {
      const { workspaceId, webhookId } = webhook;
      backlog.set(webhookId, { workspaceId, webhookId });
      expect(webhook, nowMs);
    },

    /**
     * How many events the webhooks may read from the log, and how many of them are leased at once. A webhook that is not named has nothing in
     * hand. The events of one that cannot take more stay in the log while its endpoint is responsive, which saves a lease later. Otherwise
     * they become deliveries that wait.
     */
    followRooms(nowMs: number): FollowRooms {
      const rooms = hand.rooms(nowMs);
      const known: FollowRooms["known"] = [];
      const named = new Map([...hand.webhooks(), ...backlog.values()].map((webhook) => [webhook.webhookId, webhook]));
      for (const [webhookId, webhook] of named) {
        const mayWait = !hand.isResponsive(webhookId, nowMs);
        const room = backlog.has(webhookId) ? 0 : Math.min(worthwhile(rooms, webhook, nowMs), limits.perTurn);
        rooms.take(webhook, room);
        known.push({ webhookId, room, events: room === 0 && mayWait ? limits.events : room });
      }
      const isFull = rooms.total() < webhooksPerFollow * initialSlots;
      return { known, events: isFull ? limits.events : initialSlots, room: isFull ? 0 : initialSlots };
    },

    /** The result of reading the log. */
    followed(found: readonly (WebhookRef & { waiting: number; behind: boolean })[], nowMs: number): void {
      behind = found.filter((webhook) => webhook.behind).map(({ webhookId }) => webhookId);
      for (const webhook of found) {
        if (webhook.waiting === 0) continue;
        backlog.set(webhook.webhookId, { workspaceId: webhook.workspaceId, webhookId: webhook.webhookId });
        expect(webhook, nowMs);
      }
    },
    /** Whether a webhook that is behind has nothing left to post. */
    isStarved: () => behind.some((webhookId) => !backlog.has(webhookId) && hand.isDry(webhookId)),

    /** When the next webhook becomes due; undefined when no webhook is waiting. */
    nextDueMs(): number | undefined {
      let next: number | undefined;
      for (const { dueAtMs } of order.values()) if (next === undefined || dueAtMs < next) next = dueAtMs;
      return next;
    },
  };
}
