/** Collects garbage after a burst. V8 collects when the heap grows, so an idle process keeps the garbage of its last burst for hours. Event
 * streams use it (events/catch-up.ts): a thousand readers leave hundreds of MiB behind. */
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export type HeapRelief = {
  /** Notes work that leaves garbage behind. The heap is examined when there was none for a while. */
  note(): void;
};

/** Less garbage than this is not worth the pause, about a millisecond for each MiB that stays in use. */
const worthBytes = 48 * 1024 * 1024;

export type HeapReliefOptions = {
  /** How long a burst must be over. */
  quietMs?: number;
  collect?(): Promise<unknown>;
};

export function createHeapRelief({ quietMs = 3_000, collect = createCollector() }: HeapReliefOptions = {}): HeapRelief {
  let timer: NodeJS.Timeout | undefined;
  let floorBytes = usedBytes();

  async function examine(): Promise<void> {
    timer = undefined;
    if (usedBytes() < floorBytes + worthBytes) return;
    await collect();
    floorBytes = usedBytes();
  }

  return {
    note() {
      if (timer) timer.refresh();
      else timer = setTimeout(examine, quietMs).unref();
    },
  };
}

function usedBytes(): number {
  return getHeapStatistics().used_heap_size;
}

/** Node offers the collector only to programs that are started with a flag; V8 also takes the flag later, for new contexts. */
function createCollector(): () => Promise<unknown> {
  let collector: ((options: object) => Promise<void>) | undefined;
  return async () => {
    if (!collector) {
      setFlagsFromString("--expose-gc");
      collector = runInNewContext("gc") as (options: object) => Promise<void>;
      setFlagsFromString("--no-expose-gc");
    }
    await collector({ type: "major", execution: "async" });
  };
}
