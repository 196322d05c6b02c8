/** Receives the text of one message after DATA, within its time, its rate and its share of memory. Used by session.ts. */
import type { LoopShare } from "../../shares/loop-share.ts";
import type { DataRead, ServerInput } from "./input.ts";
import type { MessageMemory } from "./message-memory.ts";
import { createReceiveProgress, type MinimumRate, type ReceiveProgress } from "./progress.ts";

export type ReceivingLimits = {
  messageBytes: number;
  /** The longest pause, and the longest time for a whole message. */
  dataMs: number;
  dataTotalMs: number;
  minimumRate: MinimumRate;
};

export type Receiving = {
  progress: ReceiveProgress;
  /** Whether the client has been behind the minimum rate for a while. */
  isSlow(): boolean;
  /** Why the message was dropped for lack of memory: its sender used up its share, or it gave way to another sender. */
  shortage(): "own share" | "gave way" | undefined;
  read(): Promise<DataRead>;
  release(): void;
};

/** Chunks of a fast message may be this far apart. */
const toleratedLagMs = 5000;

export function createReceiving(deps: {
  owner: string;
  limits: ReceivingLimits;
  memory: MessageMemory;
  input: ServerInput;
  loop: LoopShare;
}): Receiving {
  const { limits, owner } = deps;
  const progress = createReceiveProgress(limits.minimumRate);
  const dropped = new AbortController();
  let shortage: "own share" | "gave way" | undefined;
  let complete = false;
  const memory = deps.memory.open(owner, {
    rate: () => (complete ? undefined : progress.rate()),
    giveWay() {
      shortage = "gave way";
      dropped.abort();
    },
  });
  return {
    progress,
    isSlow: () => progress.lagMs() > toleratedLagMs,
    shortage: () => shortage,
    async read() {
      const read = await deps.input.data({
        maxBytes: limits.messageBytes,
        pauseMs: limits.dataMs,
        totalMs: limits.dataTotalMs,
        progress,
        signal: dropped.signal,
        turn: () => deps.loop.turn(owner),
        reserve(bytes) {
          if (memory.reserve(bytes)) return true;
          shortage ??= "own share";
          return false;
        },
        onDiscard: memory.release,
      });
      complete = true;
      return read;
    },
    release: memory.release,
  };
}
