/** Decides at RCPT whether a workspace may get more inbound mail. Inbound calls it for each recipient at a receiving domain. */
import type { Sql } from "../postgres/pool.ts";
import type { Quotas } from "./quotas.ts";
import { findFullInboundQuota, type InboundKind } from "./store/receiving.ts";

/** An answer is used for this long, so a workspace may exceed its quota by the mail of this time. */
const cacheMs = 500;
const maxWorkspaces = 10_000;

/** `nowMs` is a monotonic clock. */
export function createInboundQuota(deps: { sql: Sql; quotas: Quotas; nowMs?(): number }) {
  const { sql, quotas, nowMs = () => performance.now() } = deps;
  const cached = new Map<string, { untilMs: number; answer: Promise<InboundKind | undefined> }>();

  function findFull(workspaceId: string): Promise<InboundKind | undefined> {
    const entry = cached.get(workspaceId);
    if (entry && entry.untilMs > nowMs()) return entry.answer;
    const answer = findFullInboundQuota(sql, workspaceId, quotas.defaults);
    if (cached.size >= maxWorkspaces) cached.clear();
    cached.set(workspaceId, { untilMs: nowMs() + cacheMs, answer });
    answer.catch(() => cached.delete(workspaceId));
    return answer;
  }

  return async function mayReceive(workspaceId: string): Promise<boolean> {
    const full = await findFull(workspaceId);
    if (full) quotas.review(workspaceId, full);
    return full === undefined;
  };
}
