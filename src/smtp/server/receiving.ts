/** Receives the text of one message after DATA or BDAT, within its time, its rate and its share of memory. Used by session.ts. */
import type { LoopShare } from "../../shares/loop-share.ts";
import {
  createChunkReader,
  createDataReader,
  createKeeper,
  createLineCheck,
  type DataRead,
  type DataReader,
} from "./data.ts";
import type { ServerInput } from "./input.ts";
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
  progress(): ReceiveProgress;
  /** Whether the client has been behind the minimum rate for a while. */
  isSlow(): boolean;
  /** Why the message was dropped for lack of memory: its sender used up its share, or it gave way to another sender. */
  shortage(): "own share" | "gave way" | undefined;
  /** Reads up to the final dot. */
  read(): Promise<DataRead>;
  /** Reads the octets of one BDAT command. */
  readChunk(bytes: number): Promise<DataRead>;
  /** Whether the message is discarded, so that its next chunks are of no use. */
  discards(): boolean;
  /** The message of the BDAT commands so far. */
  chunks(): DataRead;
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
  const dropped = new AbortController();
  let shortage: "own share" | "gave way" | undefined;
  let complete = false;
  const memory = deps.memory.open(owner, {
    rate: () => (complete ? undefined : progress.rate()),
    giveWay() {
      shortage = "gave way";
      // Between two BDAT commands no read is running that the signal could end.
      keeper.drop();
      dropped.abort();
    },
  });
  const keeping = {
    maxBytes: limits.messageBytes,
    reserve(bytes: number) {
      if (memory.reserve(bytes)) return true;
      shortage ??= "own share";
      return false;
    },
    onDiscard: memory.release,
  };
  const keeper = createKeeper(keeping);
  const lines = createLineCheck();
  // One for all chunks: with small ones, a client could otherwise hold memory for as long as it likes.
  const progress = createReceiveProgress(limits.minimumRate);
  const endMs = performance.now() + limits.dataTotalMs;

  function readBy(reader: DataReader): Promise<DataRead> {
    const totalMs = endMs - performance.now();
    const turn = () => deps.loop.turn(owner);
    return deps.input.data({ pauseMs: limits.dataMs, totalMs, progress, signal: dropped.signal, turn }, reader);
  }

  return {
    progress: () => progress,
    isSlow: () => progress.lagMs() > toleratedLagMs,
    shortage: () => shortage,
    async read() {
      const read = await readBy(createDataReader(keeping));
      complete = true;
      return read;
    },
    async readChunk(bytes) {
      if (bytes > 0) return await readBy(createChunkReader(bytes, keeper, lines));
      return { kind: progress.leftMs() > 0 ? "chunk" : "timeout" };
    },
    discards: keeper.discards,
    chunks() {
      complete = true;
      const fault = lines.fault();
      if (keeper.discards()) return { kind: "too large", ended: true };
      return fault ? { kind: "fault", fault } : { kind: "message", message: keeper.take() };
    },
    release: memory.release,
  };
}
