/** Slows down callers that go on after refusals: the answers to a workspace, or to a stranger's network, that is refused again and again
 * wait for a second. Otherwise the refusals themselves would take the event loop from other callers. Called by unary-json.ts and
 * router.ts. */
import { Code, type ConnectError } from "@connectrpc/connect";
import { createBudget } from "../shares/budget.ts";
import { createTokenBuckets } from "../shares/token-bucket.ts";

export type Refusals = {
  /** Resolves when the answer may be sent: at once for other errors than refusals, and for callers with few of them. */
  pace(owner: string, error: ConnectError, call: { readonly signal: AbortSignal }): Promise<void>;
};

export type RefusalLimits = {
  /** Refusals of one owner that are answered at once: these, and then so many per second. */
  burst: number;
  perSecond: number;
  pauseMs: number;
  /** Answers that wait. Those above an owner's share are sent at once. */
  waiting: number;
};

const defaultLimits: RefusalLimits = { burst: 200, perSecond: 100, pauseMs: 1000, waiting: 4000 };

const refusalCodes = new Set([Code.ResourceExhausted, Code.Unauthenticated, Code.PermissionDenied]);

export function createRefusals(onPause: () => void, limits: Partial<RefusalLimits> = {}): Refusals {
  const { burst, perSecond, pauseMs, waiting } = { ...defaultLimits, ...limits };
  const buckets = createTokenBuckets({ burst, periodMs: 1000 / perSecond, maxKeys: 10_000 });
  const places = createBudget({ total: waiting, factor: 1 });
  return {
    async pace(owner, { code }, call) {
      if (!refusalCodes.has(code) || buckets.take(owner, performance.now()).waitMs === 0) return;
      const { signal } = call;
      if (signal.aborted || !places.tryTake(owner, 1)) return;
      onPause();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(end, pauseMs);
        function end() {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          resolve();
        }
        signal.addEventListener("abort", end, { once: true });
      });
      places.give(owner, 1);
    },
  };
}
