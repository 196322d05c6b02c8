/** The leased rows of this process: those that wait for a request, those whose request is in progress, and those that are being settled.
 * Decides which row is posted next. Webhooks take turns, each within the slots of its endpoint, and a workspace has a share of all slots, so
 * that endpoints that time out do not block the others. The first attempts for the events of an email are made one after the other. Holds
 * state and does no I/O; time is an argument. Used by loop.ts. */
import { leftFor } from "../shares/share.ts";
import type { Endpoints } from "./endpoints.ts";

export type HandLimits = {
  /** Requests in progress on this node. */
  total: number;
  /** Requests in progress at failing endpoints. */
  failingTotal: number;
  /** Leased rows of this node. */
  held: number;
  /** A workspace may have this many times the number of free requests, in total and at failing endpoints, and of free rows. */
  shareFactor: number;
};

export type WebhookRef = { workspaceId: string; webhookId: string };
export type HeldRow = WebhookRef & { attempts: number; emailId: string | null };

/** `post`: the row may be posted now. `release`: its lease must be released without an attempt. */
export type Turn = "post" | "release";

type Waiting<Row> = { row: Row; begin(turn: Turn): void };

/** Rows of one email at one webhook before their first attempt: one of them is ready or being posted, the others wait here. */
type Chain<Row> = {
  later: Waiting<Row>[];
  /** Rows that are being released. As long as there are any, later rows must not be posted before them. */
  releasing: Set<Row>;
};

type Webhook<Row> = WebhookRef & {
  ready: Waiting<Row>[];
  /** By email. */
  chains: Map<string, Chain<Row>>;
  posting: number;
  held: number;
  /** When the webhook began to hold rows, or when its endpoint last took one. */
  movedMs: number;
};

/** Rows that one statement may lease. `of` is for a webhook, within the shares of its workspace. */
export type Rooms = {
  of(webhook: WebhookRef): number;
  take(webhook: WebhookRef, count: number): void;
  total(): number;
};

/** An endpoint that holds rows and has taken none for this long is not responsive. */
const responsiveMs = 500;

export type Hand<Row extends HeldRow> = ReturnType<typeof createHand<Row>>;

export function createHand<Row extends HeldRow>(endpoints: Endpoints, limits: HandLimits) {
  const webhooks = new Map<string, Webhook<Row>>();
  /** Webhooks with a ready row and a free slot, in serving order. */
  const turns = new Set<Webhook<Row>>();
  /** Those that wait for a share of the node's slots. */
  const crowded = new Set<Webhook<Row>>();
  const posting = createTally();
  const held = createTally();
  let closed = false;

  const shareOf = (limit: number, used: Tally, workspaceId: string) =>
    leftFor({ limit, used: used.total(), held: used.of(workspaceId), factor: limits.shareFactor });

  /** A first attempt for an event of an email waits for those before it. */
  const emailOf = (row: Row) => (row.attempts === 0 && row.emailId !== null ? row.emailId : undefined);

  function chainOf(webhook: Webhook<Row>, row: Row): Chain<Row> | undefined {
    const email = emailOf(row);
    return email === undefined ? undefined : webhook.chains.get(email);
  }

  const hasTurn = ({ webhookId, ready, posting }: Webhook<Row>) =>
    ready.length > 0 && posting < endpoints.slotsOf(webhookId);

  function offer(webhook: Webhook<Row>): void {
    if (hasTurn(webhook)) turns.add(webhook);
  }

  /** By workspace. The webhooks in hand are few: rows of failing endpoints are not leased beyond this limit. */
  function tallyOfFailing(count: (webhook: Webhook<Row>) => number): Tally {
    const tally = createTally();
    for (const webhook of webhooks.values())
      if (endpoints.isFailing(webhook.webhookId)) tally.add(webhook.workspaceId, count(webhook));
    return tally;
  }

  /** Releases a row that has not been posted, and those that would wait for it. */
  function release(webhook: Webhook<Row>, { row, begin }: Waiting<Row>): void {
    endChain(webhook, row);
    begin("release");
  }

  function endChain(webhook: Webhook<Row>, row: Row): void {
    const chain = chainOf(webhook, row);
    if (!chain) return;
    chain.releasing.add(row);
    for (const waiting of chain.later.splice(0)) {
      chain.releasing.add(waiting.row);
      waiting.begin("release");
    }
  }

  /** Releases rows that wait for a request, the latest first, until `keep` are left. */
  function withdraw(webhook: Webhook<Row>, keep: number): void {
    while (webhook.ready.length > keep) release(webhook, webhook.ready.pop()!);
    if (keep > 0) return;
    turns.delete(webhook);
    for (const { later } of webhook.chains.values()) while (later.length > 0) release(webhook, later.shift()!);
  }

  return {
    /** Adds a leased row. `begin` is called once, perhaps at once. */
    add(row: Row, nowMs: number, begin: (turn: Turn) => void): void {
      const { workspaceId, webhookId } = row;
      const webhook: Webhook<Row> = webhooks.get(webhookId) ?? {
        workspaceId,
        webhookId,
        ready: [],
        chains: new Map(),
        posting: 0,
        held: 0,
        movedMs: nowMs,
      };
      if (webhook.held === 0) webhooks.set(webhookId, webhook);
      webhook.held += 1;
      held.add(workspaceId, 1);
      const email = emailOf(row);
      const chain = chainOf(webhook, row);
      if (closed || (chain && chain.releasing.size > 0)) {
        chain?.releasing.add(row);
        begin("release");
      } else if (chain) {
        chain.later.push({ row, begin });
      } else {
        if (email !== undefined) webhook.chains.set(email, { later: [], releasing: new Set() });
        webhook.ready.push({ row, begin });
        offer(webhook);
      }
    },

    /** Begins rows as long as there are free slots. */
    serve(): void {
      let failing: Tally | undefined;
      for (const webhook of turns) {
        if (posting.total() >= limits.total) return;
        const { workspaceId } = webhook;
        turns.delete(webhook);
        if (!hasTurn(webhook)) continue;
        let share = shareOf(limits.total, posting, workspaceId);
        if (endpoints.isFailing(webhook.webhookId)) {
          failing ??= tallyOfFailing((one) => one.posting);
          share = Math.min(share, shareOf(limits.failingTotal, failing, workspaceId));
          if (share > 0) failing.add(workspaceId, 1);
        }
        if (share <= 0) {
          crowded.add(webhook);
          continue;
        }
        webhook.posting += 1;
        posting.add(workspaceId, 1);
        webhook.ready.shift()!.begin("post");
        // Behind the others, so that webhooks take turns.
        offer(webhook);
      }
    },

    /** The attempt of a row has ended. `result` is undefined when it was not made and the row must be released. */
    attempted(row: Row, result: { worked: boolean | undefined } | undefined, nowMs: number): void {
      const webhook = webhooks.get(row.webhookId)!;
      webhook.posting -= 1;
      posting.add(webhook.workspaceId, -1);
      if (result?.worked !== undefined) endpoints.finished(row.webhookId, result.worked, nowMs);
      if (result?.worked) webhook.movedMs = nowMs;
      if (!result) endChain(webhook, row);
      else {
        const chain = chainOf(webhook, row);
        const next = chain?.later.shift();
        if (next) webhook.ready.push(next);
        // Rows that are being released go before those that are leased meanwhile; the last of them ends the chain.
        else if (chain?.releasing.size === 0) webhook.chains.delete(row.emailId!);
      }
      for (const other of crowded) offer(other);
      crowded.clear();
      offer(webhook);
    },

    /** The row is settled or released. True when it was the last one of its webhook. */
    finished(row: Row): boolean {
      const webhook = webhooks.get(row.webhookId)!;
      webhook.held -= 1;
      held.add(webhook.workspaceId, -1);
      const chain = chainOf(webhook, row);
      if (chain?.releasing.delete(row) && chain.releasing.size === 0) webhook.chains.delete(row.emailId!);
      if (webhook.held === 0) webhooks.delete(row.webhookId);
      return webhook.held === 0;
    },

    /** How many more rows may be leased, for one statement. */
    rooms(nowMs: number): Rooms {
      const taken = createTally();
      const failing = tallyOfFailing((webhook) => webhook.held);
      const left = (limit: number, used: Tally, more: Tally, workspaceId: string) =>
        leftFor({
          limit,
          used: used.total() + more.total(),
          held: used.of(workspaceId) + more.of(workspaceId),
          factor: limits.shareFactor,
        });
      const none = createTally();
      return {
        of({ workspaceId, webhookId }) {
          if (closed || left(limits.total, posting, none, workspaceId) <= 0) return 0;
          const room = endpoints.windowOf(webhookId, nowMs) - (webhooks.get(webhookId)?.held ?? 0);
          const share = Math.min(room, left(limits.held, held, taken, workspaceId));
          if (share <= 0 || !endpoints.isFailing(webhookId)) return Math.max(0, share);
          return Math.max(0, Math.min(share, left(limits.failingTotal, failing, none, workspaceId)));
        },
        take({ workspaceId, webhookId }, count) {
          taken.add(workspaceId, count);
          if (endpoints.isFailing(webhookId)) failing.add(workspaceId, count);
        },
        total: () => (closed ? 0 : Math.max(0, limits.held - held.total() - taken.total())),
      };
    },
    /** Whether more rows should be leased soon, although the webhook would get only a few. */
    isDry: (webhookId: string) => (webhooks.get(webhookId)?.ready.length ?? 0) === 0,
    /** Whether the endpoint is likely to take its rows in the next moment. */
    isResponsive(webhookId: string, nowMs: number): boolean {
      const webhook = webhooks.get(webhookId);
      return !endpoints.isFailing(webhookId) && (!webhook || nowMs - webhook.movedMs < responsiveMs);
    },
    /** The webhooks that hold rows. */
    webhooks: (): WebhookRef[] => [...webhooks.values()],

    /** Releases the waiting rows of endpoints that take far fewer than they hold. */
    releaseExcess(nowMs: number): void {
      for (const webhook of webhooks.values()) {
        const window = endpoints.windowOf(webhook.webhookId, nowMs);
        if (webhook.held > 2 * window) withdraw(webhook, Math.max(0, window - webhook.posting));
      }
    },
    /** Releases the waiting rows of a webhook that was disabled or deleted. */
    withdraw(webhookId: string): void {
      const webhook = webhooks.get(webhookId);
      if (webhook) withdraw(webhook, 0);
    },
    /** Releases all waiting rows, and later ones as they are added. */
    close(): void {
      closed = true;
      for (const webhook of webhooks.values()) withdraw(webhook, 0);
    },
  };
}

type Tally = { add(key: string, count: number): void; of(key: string): number; total(): number };

function createTally(): Tally {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    add(key, count) {
      const next = (counts.get(key) ?? 0) + count;
      if (next === 0) counts.delete(key);
      else counts.set(key, next);
      total += count;
    },
    of: (key) => counts.get(key) ?? 0,
    total: () => total,
  };
}
