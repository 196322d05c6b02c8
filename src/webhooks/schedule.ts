/** Decides which webhooks the loop serves next, and how many deliveries of each. Webhooks take turns. An endpoint gains slots by answering
 * and loses them by failing, and a workspace has a share of all slots, so that endpoints that time out do not block the others. Pure; time
 * is an argument. */
import { leftFor } from "../shares/share.ts";
import type { WaitingWebhook } from "./store/lease.ts";

export type WebhookLimits = {
  /** Requests in progress at one endpoint. */
  perEndpoint: number;
  /** Requests in progress on this node. */
  total: number;
  /** Requests in progress at failing endpoints. */
  failingTotal: number;
  /** Deliveries of one webhook per turn. */
  perTurn: number;
  /** A workspace may have this many times the number of free requests, in total and at failing endpoints. */
  shareFactor: number;
};

export type WebhookRef = Pick<WaitingWebhook, "workspaceId" | "webhookId">;
export type Picked = WebhookRef & { quota: number };

/** The slots of an endpoint before its first response. */
const initialSlots = 4;
/** The number of webhooks whose slots are remembered. */
const maxKnown = 10_000;

export function createWebhookSchedule(limits: WebhookLimits) {
  /** In serving order: a webhook that was served moves to the end. */
  let order = new Map<string, WebhookRef & { dueAtMs: number }>();
  const inHand = new Map<string, WebhookRef & { count: number }>();
  /** By webhook, least recently changed first. A success adds a slot, a failure halves them; with one slot, an endpoint is failing. */
  const slots = new Map<string, number>();

  const slotsOf = (webhookId: string) => slots.get(webhookId) ?? Math.min(initialSlots, limits.perEndpoint);
  const isFailing = (webhookId: string) => slotsOf(webhookId) <= 1;

  function setSlots(webhookId: string, count: number): void {
    slots.delete(webhookId);
    slots.set(webhookId, count);
    if (slots.size > maxKnown) slots.delete(slots.keys().next().value!);
  }

  /** The requests in progress by workspace: all, and those at failing endpoints. */
  function usedByWorkspace() {
    const all = createTally();
    const failing = createTally();
    for (const { workspaceId, webhookId, count } of inHand.values()) {
      all.add(workspaceId, count);
      if (isFailing(webhookId)) failing.add(workspaceId, count);
    }
    return { all, failing };
  }

  const shareOf = (limit: number, used: Tally, workspaceId: string) =>
    leftFor({ limit, used: used.total(), held: used.of(workspaceId), factor: limits.shareFactor });

  return {
    /** Stores the result of a search. Known webhooks keep their order. New ones come first, since they have not been served yet. */
    replace(found: readonly WaitingWebhook[], nowMs: number): void {
      const current = new Map<string, WebhookRef & { dueAtMs: number }>();
      for (const { workspaceId, webhookId, dueInMs, failing } of found) {
        current.set(webhookId, { workspaceId, webhookId, dueAtMs: nowMs + dueInMs });
        if (failing && !slots.has(webhookId)) setSlots(webhookId, 1);
      }
      const next = new Map([...current].filter(([webhookId]) => !order.has(webhookId)));
      for (const webhookId of order.keys()) {
        const webhook = current.get(webhookId);
        if (webhook) next.set(webhookId, webhook);
      }
      order = next;
    },

    /** At most `count` webhooks to lease for, with the number of deliveries for each. */
    pick(nowMs: number, count: number): Picked[] {
      const picked: Picked[] = [];
      const used = usedByWorkspace();
      for (const [webhookId, webhook] of [...order]) {
        if (picked.length >= count || used.all.total() >= limits.total) break;
        if (webhook.dueAtMs > nowMs) continue;
        const { workspaceId } = webhook;
        const failing = isFailing(webhookId);
        const free = slotsOf(webhookId) - (inHand.get(webhookId)?.count ?? 0);
        const share = shareOf(limits.total, used.all, workspaceId);
        const failingShare = failing ? shareOf(limits.failingTotal, used.failing, workspaceId) : share;
        const quota = Math.min(free, limits.perTurn, share, failingShare);
        if (quota <= 0) continue;
        used.all.add(workspaceId, quota);
        if (failing) used.failing.add(workspaceId, quota);
        picked.push({ workspaceId, webhookId, quota });
        order.delete(webhookId);
        order.set(webhookId, webhook);
      }
      return picked;
    },

    /** Adds the rows of a lease to those in hand. A webhook with fewer than its quota is empty until `replace` or `recheck` names it. */
    leased(picked: readonly Picked[], rows: readonly WebhookRef[]): void {
      const counts = new Map<string, number>();
      for (const { workspaceId, webhookId } of rows) {
        counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
        inHand.set(webhookId, { workspaceId, webhookId, count: (inHand.get(webhookId)?.count ?? 0) + 1 });
      }
      for (const { webhookId, quota } of picked) if ((counts.get(webhookId) ?? 0) < quota) order.delete(webhookId);
    },

    /** A request has ended. `worked` is undefined when the attempt shows nothing about the endpoint. */
    finished(webhookId: string, worked: boolean | undefined): void {
      const held = inHand.get(webhookId);
      if (held && held.count > 1) held.count -= 1;
      else inHand.delete(webhookId);
      if (worked === undefined) return;
      const count = slotsOf(webhookId);
      setSlots(webhookId, worked ? Math.min(count + 1, limits.perEndpoint) : Math.max(Math.floor(count / 2), 1));
    },

    /** A delivery of this webhook may have become due. */
    recheck(webhook: WebhookRef, nowMs: number): void {
      const { workspaceId, webhookId } = webhook;
      order.set(webhookId, { workspaceId, webhookId, dueAtMs: nowMs });
    },

    /** When the next webhook becomes due; undefined when no webhook is waiting. */
    nextDueMs(): number | undefined {
      let next: number | undefined;
      for (const { dueAtMs } of order.values()) if (next === undefined || dueAtMs < next) next = dueAtMs;
      return next;
    },
  };
}

type Tally = { add(key: string, count: number): void; of(key: string): number; total(): number };

function createTally(): Tally {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    add(key, count) {
      counts.set(key, (counts.get(key) ?? 0) + count);
      total += count;
    },
    of: (key) => counts.get(key) ?? 0,
    total: () => total,
  };
}
