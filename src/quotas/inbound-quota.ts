/** Decides at RCPT whether a workspace may get more inbound mail. Inbound calls it for each recipient at a receiving domain. */
import type { Sql } from "../postgres/pool.ts";
import type { QuotaDefaults } from "./rules/limits.ts";
import { hasInboundRoom } from "./store/receiving.ts";

/** An answer is used for this long, so a workspace may exceed its quota by the mail of this time. */
const cacheMs = 500;
const maxWorkspaces = 10_000;

/** `nowMs` is a monotonic clock. */
export function createInboundQuota(deps: { sql: Sql; defaults: QuotaDefaults; nowMs?(): number }) {
  const { sql, defaults, nowMs = () => performance.now() } = deps;
  const cached = new Map<string, { untilMs: number; answer: Promise<boolean> }>();
  return async function hasRoom(workspaceId: string): Promise<boolean> {
    const entry = cached.get(workspaceId);
    if (entry && entry.untilMs > nowMs()) return await entry.answer;
    const answer = hasInboundRoom(sql, workspaceId, defaults);
    if (cached.size >= maxWorkspaces) cached.clear();
    cached.set(workspaceId, { untilMs: nowMs() + cacheMs, answer });
    answer.catch(() => cached.delete(workspaceId));
    return await answer;
  };
}
