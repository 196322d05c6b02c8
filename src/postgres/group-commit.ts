/**
 * Group commit: items that arrive while a batch is being committed share the next batch, so many callers need few commits.
 * Each caller's promise resolves after its own commit. Used by the stores that accept mail and settle attempts.
 */

import { type CallScope, currentCall, inCallScope, noteCommitted } from "./call-scope.ts";

export type GroupCommit<In, Out> = {
  add(item: In, bytes: number): Promise<Out>;
  /** Resolves when no item is queued and no batch is running. */
  idle(): Promise<void>;
};

export type GroupOptions<In, Out> = {
  /** Commits all items of a batch in one statement and returns one result per item, in order. A result may be a promise. */
  run(items: In[]): Promise<(Out | PromiseLike<Out>)[]>;
  maxItems: number;
  maxBytes: number;
  /** When more items than this are queued, a batch takes half of them, so that callers and the database work at the same time. */
  halveAboveItems?: number;
  /** The number of batches that may run at once, each on its own connection. */
  concurrency: number;
  /**
   * A further batch starts while the statements of others run only when the newest of these has run this long, or when a full batch is
   * queued. Without this it would take the few items that have just arrived, and each would pay most of a batch's fixed cost. Default 0.
   * While the others commit, it starts at once: the database executes it while it waits for the disk.
   */
  parallelAfterMs?: number;
  /**
   * A batch that is not full starts at the earliest this long after the start of the previous one, so that more items share its fixed
   * cost. The first batch after a pause starts at once.
   */
  minIntervalMs?: number;
  /** The owner of an item. An item whose owner was in no recent batch waits only a tenth of `minIntervalMs`. */
  ownerOf?(item: In): string;
  /** Only items with the same part share a batch. */
  partOf?(item: In): unknown;
  /** Items with the same key never share a batch. */
  keyOf?(item: In): string | undefined;
  /** True when a failed batch is retried item by item, so that one bad row fails alone. */
  splitOn?(error: unknown): boolean;
};

type QueuedItem<In, Out> = {
  item: In;
  bytes: number;
  /** The call that added the item, if any. */
  call: CallScope | undefined;
  resolve(out: Out | PromiseLike<Out>): void;
  reject(error: unknown): void;
};

export function createGroupCommit<In, Out>(options: GroupOptions<In, Out>): GroupCommit<In, Out> {
  let queue: QueuedItem<In, Out>[] = [];
  const running = new Set<{ startedAt: number; committing: boolean }>();
  let onIdle: (() => void)[] = [];

  function takeBatch(): QueuedItem<In, Out>[] {
    const batch: QueuedItem<In, Out>[] = [];
    const later: QueuedItem<In, Out>[] = [];
    const keys = new Set<string>();
    let bytes = 0;
    const limit = Math.min(
      options.maxItems,
      Math.max(options.halveAboveItems ?? options.maxItems, Math.ceil(queue.length / 2)),
    );
    for (const [i, queued] of queue.entries()) {
      const isOfOther = batch.length > 0 && options.partOf?.(queued.item) !== options.partOf?.(batch[0]!.item);
      if (isOfOther) {
        later.push(queued);
        continue;
      }
      const key = options.keyOf?.(queued.item);
      const full = batch.length > 0 && (batch.length >= limit || bytes + queued.bytes > options.maxBytes);
      if (full) {
        later.push(...queue.slice(i));
        break;
      }
      if (key !== undefined && keys.has(key)) {
        later.push(queued);
        continue;
      }
      if (key !== undefined) keys.add(key);
      bytes += queued.bytes;
      batch.push(queued);
    }
    queue = later;
    hasRareOwner = false;
    if (options.ownerOf) for (const { item } of batch) noteServed(options.ownerOf(item));
    return batch;
  }

  /** When each owner was last in a batch. Only the last `minIntervalMs` matter, so the map may be cleared when it grows. */
  const servedAt = new Map<string, number>();
  /** True when the queue contains an item whose owner was in no recent batch. */
  let hasRareOwner = false;

  function noteServed(owner: string): void {
    if (servedAt.size > 1000) servedAt.clear();
    servedAt.set(owner, startedAt);
  }

  function noteOwner(item: In): void {
    const owner = options.ownerOf?.(item);
    if (owner === undefined) return;
    hasRareOwner ||=
      (servedAt.get(owner) ?? Number.NEGATIVE_INFINITY) < performance.now() - (options.minIntervalMs ?? 0);
  }

  async function commit(batch: QueuedItem<In, Out>[], committing: () => void): Promise<void> {
    try {
      const scope = { ...scopeOf(batch), committing };
      const results = await inCallScope(scope, () => options.run(batch.map(({ item }) => item)));
      for (const [i, queued] of batch.entries()) queued.resolve(results[i]!);
    } catch (error) {
      if (error instanceof LateItems) {
        for (const [queued, reason] of error.late) (queued as QueuedItem<In, Out>).reject(reason);
        const inTime = batch.filter((queued) => !error.late.has(queued));
        if (inTime.length > 0) await commit(inTime, committing);
      } else if (batch.length > 1 && options.splitOn?.(error)) {
        for (const queued of batch) await commit([queued], committing);
      } else {
        for (const queued of batch) queued.reject(error);
      }
    }
  }

  /** When the last batch started. */
  let startedAt = Number.NEGATIVE_INFINITY;
  let delayed: { timer: NodeJS.Timeout; untilMs: number } | undefined;

  /** True when the next batch should start later; a timer then starts it. */
  function delays(): boolean {
    const intervalEndMs = startedAt + (options.minIntervalMs ?? 0) / (hasRareOwner ? 10 : 1);
    const executing = [...running].filter(({ committing }) => !committing);
    const newestStartMs = Math.max(...executing.map((batch) => batch.startedAt));
    const untilMs = Math.max(intervalEndMs, newestStartMs + (options.parallelAfterMs ?? 0));
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0 || queue.length >= options.maxItems || queuedBytes() >= options.maxBytes) return false;
    if (delayed && delayed.untilMs <= untilMs) return true;
    clearTimeout(delayed?.timer);
    const start = () => {
      delayed = undefined;
      startBatches();
    };
    delayed = { timer: setTimeout(start, leftMs), untilMs };
    return true;
  }

  function queuedBytes(): number {
    return queue.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  function startBatches(): void {
    while (running.size < options.concurrency && queue.length > 0 && !delays()) {
      startedAt = performance.now();
      const batch = takeBatch();
      const entry = { startedAt, committing: false };
      running.add(entry);
      const committing = () => {
        entry.committing = true;
        // After the commit is sent.
        queueMicrotask(startBatches);
      };
      void commit(batch, committing).finally(() => {
        running.delete(entry);
        startBatches();
        if (running.size === 0 && queue.length === 0) for (const done of onIdle.splice(0)) done();
      });
    }
  }

  let scheduled = false;
  return {
    async add(item, bytes) {
      const result = await new Promise<Out>((resolve, reject) => {
        queue.push({ item, bytes, call: currentCall(), resolve, reject });
        noteOwner(item);
        if (scheduled) return;
        scheduled = true;
        // Callers of the same turn of the event loop share the first batch.
        setImmediate(() => {
          scheduled = false;
          startBatches();
        });
      });
      noteCommitted();
      return result;
    },
    async idle() {
      if (running.size === 0 && queue.length === 0) return;
      await new Promise<void>((resolve) => {
        onIdle = [...onIdle, resolve];
      });
    },
  };
}

/** Thrown before a batch is sent: the calls of these items must not write any more, each for its reason. */
class LateItems extends Error {
  readonly late: ReadonlyMap<unknown, unknown>;
  constructor(late: ReadonlyMap<unknown, unknown>) {
    super("some items of a batch are late");
    this.late = late;
  }
}

/** A batch works for all its callers: it has as long as the most patient of them, and is sent only if none of them is late. */
function scopeOf(batch: readonly { call: CallScope | undefined }[]): CallScope {
  return {
    owner: undefined,
    committed: 0,
    /** Undefined: one of the callers has no deadline. */
    timeLeftMs() {
      const left = batch.map(({ call }) => call?.timeLeftMs());
      return left.some((one) => one === undefined) ? undefined : Math.max(...(left as number[]));
    },
    check() {
      const late = new Map<unknown, unknown>();
      for (const queued of batch) {
        try {
          queued.call?.check();
        } catch (reason) {
          late.set(queued, reason);
        }
      }
      if (late.size > 0) throw new LateItems(late);
    },
    sent() {
      for (const { call } of batch) call?.sent();
    },
  };
}
