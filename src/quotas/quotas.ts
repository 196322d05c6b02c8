/** `quotas` limits what each workspace uses, reports to its owners when it comes close, and stops workspaces whose mail bounces or is
 * reported as spam. This file is what services call. Parts: rules/ (limits, brakes), store/ (SQL), watch.ts and brake-loop.ts (loops).
 * Next: rules/limits.ts, then store/sending.ts, which is part of the statement that stores emails. */
import type { Clock } from "../ops/clock.ts";
import type { Log } from "../ops/log.ts";
import { Problem } from "../ops/problem.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import { quotaNotice } from "./notice-text.ts";
import {
  type Limit,
  limitsOf,
  type QuotaDefaults,
  type QuotaKind,
  quotaKinds,
  reached,
  thresholds,
  windowAt,
} from "./rules/limits.ts";
import { noteBelow, noteQuota } from "./store/notices.ts";
import { type AddedKind, readLimits, readUsage, requireRoom, type WorkspaceUsage } from "./store/usage.ts";

export type Quotas = {
  defaults: QuotaDefaults;
  /** Throws if the quota is used up. Called before expensive work. */
  check(workspaceId: string, kind: AddedKind): Promise<void>;
  /** Runs `add` in a transaction if the quota allows one more, and reports when the quota is nearly used up. */
  adding<T>(workspaceId: string, kind: AddedKind, add: (tx: Sql) => Promise<T>): Promise<T>;
  limitOf(workspaceId: string, kind: QuotaKind): Promise<Limit>;
  /** Reads the usage of the workspace soon and reports thresholds that it has reached. Calls for one workspace share a reading. `refused`:
   * a quota that refused a call, although a smaller one might still fit. */
  review(workspaceId: string, refused?: QuotaKind): void;
  /** Does the same now. */
  reviewNow(workspaceIds: readonly string[]): Promise<void>;
  idle(): Promise<void>;
};

export type QuotaDeps = { sql: Sql; log: Log; clock: Clock; defaults: QuotaDefaults; onEvent(): void };

/** A refused caller may repeat its calls quickly. */
const reviewDelayMs = 500;

export function createQuotas(deps: QuotaDeps): Quotas {
  const { sql, log, defaults } = deps;
  const waiting = new Map<string, { timer: NodeJS.Timeout; refused: Set<QuotaKind> }>();
  const running = new Set<Promise<void>>();
  /** The last reported threshold and window by workspace and kind, which saves a statement for each review. */
  const reported = new Map<string, string>();

  function review(workspaceId: string, kind?: QuotaKind): void {
    const refused = waiting.get(workspaceId)?.refused ?? new Set();
    if (kind) refused.add(kind);
    if (waiting.has(workspaceId)) return;
    const timer = setTimeout(() => {
      waiting.delete(workspaceId);
      const work = reviewNow([workspaceId], refused).catch((error) => {
        if (!isDatabaseAway(error)) log.error({ err: error, workspaceId }, "reading the quotas of a workspace failed");
      });
      running.add(work);
      void work.finally(() => running.delete(work));
    }, reviewDelayMs);
    timer.unref();
    waiting.set(workspaceId, { timer, refused });
  }

  async function reviewNow(
    workspaceIds: readonly string[],
    refused: ReadonlySet<QuotaKind> = new Set(),
  ): Promise<void> {
    for (const usage of await readUsage(sql, workspaceIds)) await report(usage, refused);
  }

  async function report(usage: WorkspaceUsage, refused: ReadonlySet<QuotaKind>): Promise<void> {
    const limits = limitsOf(usage, defaults);
    const below: { workspaceId: string; kind: QuotaKind; percent: number }[] = [];
    for (const kind of quotaKinds) {
      const limit = limits[kind];
      const percent = limit !== null && refused.has(kind) ? 100 : reached(usage.used[kind], limit);
      if (windowAt(kind, usage.serviceMs) === undefined)
        for (const other of thresholds)
          if (other > (percent ?? 0)) below.push({ workspaceId: usage.id, kind, percent: other });
      if (percent !== undefined && limit !== null) await reportOne(usage, { kind, percent, limit });
    }
    await noteBelow(sql, below);
  }

  async function reportOne(
    usage: WorkspaceUsage,
    at: { kind: QuotaKind; percent: number; limit: number },
  ): Promise<void> {
    const notice = quotaNotice(usage, at, deps.clock.nowMs());
    const key = `${usage.id} ${at.kind}`;
    const mark = `${at.percent} ${notice.windowStartMs}`;
    // A quota without a window has no such mark: another node may have seen that it was below the threshold.
    if (reported.get(key) === mark) return;
    if (await noteQuota(sql, notice)) deps.onEvent();
    if (reported.size > 10_000) reported.clear();
    reported.set(key, mark);
  }

  /** Reviews the workspace if its quota refuses the work. */
  async function reviewing<T>(workspaceId: string, kind: QuotaKind, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Problem && error.reason === "QUOTA_EXCEEDED") review(workspaceId, kind);
      throw error;
    }
  }

  return {
    defaults,
    check: (workspaceId, kind) =>
      reviewing(workspaceId, kind, () => requireRoom(sql, { workspaceId, kind, defaults, lock: false })),
    async adding(workspaceId, kind, add) {
      const added = await reviewing(workspaceId, kind, () =>
        sql.begin(async (tx) => {
          await requireRoom(tx, { workspaceId, kind, defaults, lock: true });
          return { value: await add(tx) };
        }),
      );
      review(workspaceId);
      return added.value;
    },
    async limitOf(workspaceId, kind) {
      const row = await readLimits(sql, workspaceId);
      return row ? limitsOf(row, defaults)[kind] : null;
    },
    review,
    reviewNow,
    async idle() {
      for (const { timer } of waiting.values()) clearTimeout(timer);
      waiting.clear();
      await Promise.all(running);
    },
  };
}
