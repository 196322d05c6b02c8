/** Decides which webhooks the loop serves next, and how many deliveries of each. Webhooks take turns. An endpoint gains slots by answering
 * and loses them by failing, so that endpoints that time out do not block the others. Pure; time is an argument. */
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
  const inHand = new Map<string, number>();
  /** By webhook, least recently changed first. A success adds a slot, a failure halves them; with one slot, an endpoint is failing. */
  const slots = new Map<string, number>();
  let total = 0;

  const slotsOf = (webhookId: string) => slots.get(webhookId) ?? Math.min(initialSlots, limits.perEndpoint);
  const isFailing = (webhookId: string) => slotsOf(webhookId) <= 1;

  function setSlots(webhookId: string, count: number): void {
    slots.delete(webhookId);
    slots.set(webhookId, count);
    if (slots.size > maxKnown) slots.delete(slots.keys().next().value!);
  }

  function failingInHand(): number {
    let sum = 0;
    for (const [webhookId, count] of inHand) if (isFailing(webhookId)) sum += count;
    return sum;
  }

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
      let left = limits.total - total;
      let failingLeft = limits.failingTotal - failingInHand();
      for (const [webhookId, webhook] of [...order]) {
        if (picked.length >= count || left <= 0) break;
        if (webhook.dueAtMs > nowMs) continue;
        const failing = isFailing(webhookId);
        const free = slotsOf(webhookId) - (inHand.get(webhookId) ?? 0);
        const quota = Math.min(free, left, limits.perTurn, failing ? failingLeft : left);
        if (quota <= 0) continue;
        left -= quota;
        if (failing) failingLeft -= quota;
        picked.push({ workspaceId: webhook.workspaceId, webhookId, quota });
        order.delete(webhookId);
        order.set(webhookId, webhook);
      }
      return picked;
    },

    /** Adds the rows of a lease to those in hand. A webhook with fewer than its quota is empty until `replace` or `recheck` names it. */
    leased(picked: readonly Picked[], rows: readonly WebhookRef[]): void {
      const counts = new Map<string, number>();
      for (const { webhookId } of rows) {
        counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
        inHand.set(webhookId, (inHand.get(webhookId) ?? 0) + 1);
      }
      total += rows.length;
      for (const { webhookId, quota } of picked) if ((counts.get(webhookId) ?? 0) < quota) order.delete(webhookId);
    },

    /** A request has ended. `worked` is undefined when the attempt shows nothing about the endpoint. */
    finished(webhookId: string, worked: boolean | undefined): void {
      const left = (inHand.get(webhookId) ?? 0) - 1;
      if (left > 0) inHand.set(webhookId, left);
      else inHand.delete(webhookId);
      total -= 1;
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
