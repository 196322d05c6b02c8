/** Many concurrent callers, few commits: what arrives while a statement is under way shares the next one. Each caller is
 * answered after its own commit. */

export type GroupCommit<In, Out> = {
  add(item: In, bytes: number): Promise<Out>;
  /** Resolves when nothing is waiting or under way. */
  idle(): Promise<void>;
};

export type GroupOptions<In, Out> = {
  /** Commits all items of a batch in one statement and gives one answer per item, in order; one that takes longer is a promise. */
  run(items: In[]): Promise<(Out | PromiseLike<Out>)[]>;
  maxItems: number;
  maxBytes: number;
  /** More than this many go by halves: all at once, they would all wait for the store and then the store for all of them. */
  wholeItems?: number;
  /** How many batches may be under way at once, each on a connection of its own. */
  lanes: number;
  /** A lane beside others opens when the youngest of them has taken this long, or a full batch waits: at once it would take the few who
   * just came, and pay for each of them what a batch shares. Zero: at once. */
  nextLaneMs?: number;
  /** Under load a batch that is not full waits until this long after the one before: its fixed cost is then shared by more items. The
   * first after a pause never waits. */
  restMs?: number;
  /** Whom an item is for. Somebody who was in no batch lately waits a fifth of the rest: it is there for those who fill the batches. */
  ownerOf?(item: In): string;
  /** An item that must not share a batch with another one of the same key. */
  keyOf?(item: In): string | undefined;
  /** True when a failed batch may be tried again item by item: one bad row must fail alone. */
  splitOn?(error: unknown): boolean;
};

type Waiting<In, Out> = {
  item: In;
  bytes: number;
  resolve(out: Out | PromiseLike<Out>): void;
  reject(error: unknown): void;
};

export function createGroupCommit<In, Out>(options: GroupOptions<In, Out>): GroupCommit<In, Out> {
  let queue: Waiting<In, Out>[] = [];
  /** When each batch that is under way began. */
  const running = new Set<{ atMs: number }>();
  let onIdle: (() => void)[] = [];

  function takeBatch(): Waiting<In, Out>[] {
    const batch: Waiting<In, Out>[] = [];
    const later: Waiting<In, Out>[] = [];
    const keys = new Set<string>();
    let bytes = 0;
    const most = Math.min(
      options.maxItems,
      Math.max(options.wholeItems ?? options.maxItems, Math.ceil(queue.length / 2)),
    );
    for (const [i, waiting] of queue.entries()) {
      const key = options.keyOf?.(waiting.item);
      const full = batch.length > 0 && (batch.length >= most || bytes + waiting.bytes > options.maxBytes);
      if (full) {
        later.push(...queue.slice(i));
        break;
      }
      if (key !== undefined && keys.has(key)) {
        later.push(waiting);
        continue;
      }
      if (key !== undefined) keys.add(key);
      bytes += waiting.bytes;
      batch.push(waiting);
    }
    queue = later;
    hurried = false;
    if (options.ownerOf) for (const { item } of batch) noteServed(options.ownerOf(item));
    return batch;
  }

  /** When each owner was last in a batch; only those of the last rest are of interest. */
  const servedAt = new Map<string, number>();
  let hurried = false;

  function noteServed(owner: string): void {
    if (servedAt.size > 1000) servedAt.clear();
    servedAt.set(owner, startedAt);
  }

  function hurry(item: In): void {
    const owner = options.ownerOf?.(item);
    if (owner === undefined) return;
    hurried ||= (servedAt.get(owner) ?? Number.NEGATIVE_INFINITY) < performance.now() - (options.restMs ?? 0);
  }

  async function commit(batch: Waiting<In, Out>[]): Promise<void> {
    try {
      const answers = await options.run(batch.map((w) => w.item));
      for (const [i, waiting] of batch.entries()) waiting.resolve(answers[i]!);
    } catch (error) {
      if (batch.length > 1 && options.splitOn?.(error)) {
        for (const waiting of batch) await commit([waiting]);
      } else {
        for (const waiting of batch) waiting.reject(error);
      }
    }
  }

  let startedAt = Number.NEGATIVE_INFINITY;
  let resting: { timer: NodeJS.Timeout; untilMs: number } | undefined;

  /** True: the next batch is better made later, and will be. */
  function rests(): boolean {
    const restedAt = startedAt + (options.restMs ?? 0) / (hurried ? 5 : 1);
    const youngest = Math.max(...[...running].map(({ atMs }) => atMs));
    const untilMs = Math.max(restedAt, youngest + (options.nextLaneMs ?? 0));
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0 || queue.length >= options.maxItems || queuedBytes() >= options.maxBytes) return false;
    if (resting && resting.untilMs <= untilMs) return true;
    clearTimeout(resting?.timer);
    const wake = () => {
      resting = undefined;
      pump();
    };
    resting = { timer: setTimeout(wake, leftMs), untilMs };
    return true;
  }

  function queuedBytes(): number {
    return queue.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  function pump(): void {
    while (running.size < options.lanes && queue.length > 0 && !rests()) {
      startedAt = performance.now();
      const batch = takeBatch();
      const lane = { atMs: startedAt };
      running.add(lane);
      void commit(batch).finally(() => {
        running.delete(lane);
        pump();
        if (running.size === 0 && queue.length === 0) for (const done of onIdle.splice(0)) done();
      });
    }
  }

  let scheduled = false;
  return {
    add(item, bytes) {
      return new Promise((resolve, reject) => {
        queue.push({ item, bytes, resolve, reject });
        hurry(item);
        if (scheduled) return;
        scheduled = true;
        // Callers of the same turn of the event loop share the first batch already.
        setImmediate(() => {
          scheduled = false;
          pump();
        });
      });
    },
    async idle() {
      if (running.size === 0 && queue.length === 0) return;
      await new Promise<void>((resolve) => {
        onIdle = [...onIdle, resolve];
      });
    },
  };
}
