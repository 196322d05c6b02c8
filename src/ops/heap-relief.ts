/** Collects garbage after a burst. V8 collects when the heap grows, so an idle process keeps the garbage of its last burst for hours. Event
 * streams use it (events/catch-up.ts), and the HTTP port for connections: a thousand readers leave hundreds of MiB behind. */
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export type HeapRelief = {
  /** Notes work that leaves about this much garbage behind. It is collected when there was no such work for a while. */
  note(garbageBytes: number): void;
};

export type HeapReliefOptions = {
  /** How long a burst must be over. */
  quietMs?: number;
  collect?(): Promise<unknown>;
};

/** Less garbage than this is not worth the pause, about a millisecond for each MiB that stays in use. */
const worthBytes = 32 * 1024 * 1024;

export function createHeapRelief({ quietMs = 3_000, collect = createCollector() }: HeapReliefOptions = {}): HeapRelief {
  let timer: NodeJS.Timeout | undefined;
  let garbageBytes = 0;

  function relieve(): void {
    timer = undefined;
    if (garbageBytes < worthBytes) return;
    garbageBytes = 0;
    void collect();
  }

  return {
    note(bytes) {
      garbageBytes += bytes;
      if (timer) timer.refresh();
      else timer = setTimeout(relieve, quietMs).unref();
    },
  };
}

/** After 1,000 readers, V8 still had reserved 187 MiB after one collection, and 49 MiB after two. */
const collections = 2;

/** Node offers the collector only to programs that are started with a flag; V8 also takes the flag later, for new contexts. */
function createCollector(): () => Promise<unknown> {
  let collector: ((options: object) => Promise<void>) | undefined;
  return async () => {
    if (!collector) {
      setFlagsFromString("--expose-gc");
      collector = runInNewContext("gc") as (options: object) => Promise<void>;
      setFlagsFromString("--no-expose-gc");
    }
    for (let i = 0; i < collections; i++) {
      await collector({ type: "major", execution: "async" });
      await delay(1000, undefined, { ref: false });
    }
  };
}
