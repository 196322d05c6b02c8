/** Counts the open event streams of each workspace on all nodes. A node knows the streams of the others as of a few seconds ago. Called by
 * events/service.ts for each stream, and by watch.ts. */
import type { Sql } from "../postgres/pool.ts";
import type { Quotas } from "./quotas.ts";
import { quotaExceeded } from "./rules/limits.ts";
import { forgetStreams, shareStreams } from "./store/usage.ts";

export type StreamQuota = {
  /** Takes a place for a stream, or throws. Returns the function that gives it back. */
  open(workspaceId: string): Promise<() => void>;
  /** Exchanges the counts with the other nodes. */
  sync(): Promise<void>;
  stop(): Promise<void>;
};

export function createStreamQuota(deps: { sql: Sql; quotas: Quotas; node: string }): StreamQuota {
  const { sql, quotas, node } = deps;
  const open = new Map<string, number>();
  let elsewhere = new Map<string, number>();

  const change = (workspaceId: string, by: number) => {
    const left = (open.get(workspaceId) ?? 0) + by;
    if (left > 0) open.set(workspaceId, left);
    else open.delete(workspaceId);
  };

  return {
    async open(workspaceId) {
      // Before the wait for the limit, so that streams that open at the same time count as well.
      change(workspaceId, 1);
      let isOpen = true;
      const close = () => {
        if (isOpen) change(workspaceId, -1);
        isOpen = false;
      };
      try {
        const most = await quotas.limitOf(workspaceId, "streams");
        const used = (open.get(workspaceId) ?? 0) + (elsewhere.get(workspaceId) ?? 0);
        if (most !== null && used >= 0.8 * most) quotas.review(workspaceId, used > most ? "streams" : undefined);
        if (most !== null && used > most) throw quotaExceeded("streams", most);
        return close;
      } catch (error) {
        close();
        throw error;
      }
    },
    async sync() {
      elsewhere = await shareStreams(sql, node, Object.fromEntries(open));
    },
    async stop() {
      await forgetStreams(sql, node).catch(() => {});
    },
  };
}
