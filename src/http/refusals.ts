/** Delays the answers to a workspace, or to a stranger's network, that keeps calling after being refused. Otherwise the refusals themselves
 * would take the event loop from other callers. Called by unary-json.ts and router.ts. */
import { Code, type ConnectError } from "@connectrpc/connect";
import { createBudget } from "../shares/budget.ts";
import { onlyProcess, partOf } from "../shares/process-part.ts";
import { createTokenBuckets } from "../shares/token-bucket.ts";

export type RefusedCall = {
  /** The workspace, once the gate knows it; before that the client's network. */
  owner: string;
  /** Whether the gate let the call in. Every failure before that is a refusal. */
  admitted: boolean;
  error: ConnectError;
  /** Calls the listener when the response is closed, or at once if it is. */
  onClosed(listener: () => void): void;
};

export type RefusalPace = {
  /** Resolves when the answer may be sent: at once for errors other than refusals, and for callers with few of them. */
  pace(call: RefusedCall): Promise<void>;
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

export function createRefusalPace(
  onPause: () => void,
  limits: Partial<RefusalLimits> = {},
  part = onlyProcess,
): RefusalPace {
  const { burst, perSecond, pauseMs, waiting } = { ...defaultLimits, ...limits };
  const periodMs = (1000 / perSecond) * part.of;
  const buckets = createTokenBuckets({ burst: partOf(burst, part), periodMs, maxKeys: 10_000 });
  const places = createBudget({ total: partOf(waiting, part), factor: 1 });
  return {
    async pace({ owner, admitted, error, onClosed }) {
      if (admitted && !refusalCodes.has(error.code)) return;
      if (buckets.take(owner, performance.now()).waitMs === 0 || !places.tryTake(owner, 1)) return;
      onPause();
      // The caller's deadline does not end the pause: a caller could choose a short one.
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs);
        onClosed(() => {
          clearTimeout(timer);
          resolve();
        });
      });
      places.give(owner, 1);
    },
  };
}
