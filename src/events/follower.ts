/** Follows the event logs that have open streams on this node, with one query for all of them. Keeps the newest events of each log in
 * memory, so that live streams need no queries. Called by service.ts for StreamEvents. */
import { setTimeout as delay } from "node:timers/promises";
import { revokedAmong, type StreamHolder } from "../keys/store.ts";
import type { Log } from "../ops/log.ts";
import { Problem } from "../ops/problem.ts";
import { makeCutLetters } from "../postgres/log-origin.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { Wake } from "../postgres/wake.ts";
import { createBudget } from "../shares/budget.ts";
import { onlyProcess, type ProcessPart, partOf } from "../shares/process-part.ts";
import type { CatchUp } from "./catch-up.ts";
import { sharedBefore } from "./cursor.ts";
import { createLive, type LiveOptions, type LiveStream } from "./live.ts";
import { type Cuts, isContinued, isSameLog, lastSharedSince } from "./rules.ts";
import {
  cutLog,
  eventBounds,
  type LogBounds,
  type NewEvents,
  newestStored,
  readNewEvents,
  type StoredEvent,
  weightOf,
} from "./store.ts";

/** Thrown to a reader of a log that has other cuts than it knows. */
export class LogWasCut extends Error {}

export type Subscription = {
  /** The oldest and the newest event when the stream was opened. */
  bounds: LogBounds & { lastId: string | undefined };
  /** The newest event number that this node knows. */
  head(): bigint;
  /** The id of the event with that number, if it is in memory. */
  headId(): string | undefined;
  /** The cuts of the log that this node knows. */
  cuts(): Cuts;
  /** Reads the cuts again, for a stream that found others. */
  refresh(): Promise<void>;
  /** Events after a number of the log with these cuts, from memory; undefined when some of them are no longer in memory and must be read
   * from the store. Throws LogWasCut if the log has other cuts. */
  recent(after: bigint, cuts: Cuts): readonly StoredEvent[] | undefined;
  /** Resolves when there are new events or the key was revoked, and at the latest after the given time. */
  waitForNews(withinMs: number, signal: AbortSignal): Promise<void>;
  /** Pushes new events to a stream that has caught up. Meanwhile they do not end `waitForNews`. */
  goLive(options: Omit<LiveOptions, "wake">): LiveStream;
  /** Set when the key or session of this stream was revoked or has expired, or when the key has other limits now. */
  ended(): StreamEnd | undefined;
  close(): void;
};

export type StreamEnd = "revoked" | "changed";

export type Follower = {
  /** The stream ends when the key or session `holder` ends; undefined for streams without one. */
  subscribe(workspaceId: string, holder: Omit<StreamHolder, "workspaceId"> | undefined): Promise<Subscription>;
  /** The number of open streams on this node. */
  size(): number;
  start(): void;
  stop(): void;
};

/** How often logs and keys are polled. Wake-ups are only hints and may get lost. */
const pollMs = 1000;
/** The most events per log in one query. */
const maxEvents = 512;

/** Streams open on this node. A workspace may have three times as many as are free: three quarters if it is the only one. */
const defaultLimits: StreamLimits = { total: 4_000, factor: 3 };

/** A log that has grown within this time counts as busy. */
const busyMs = 10_000;

/** A log with open streams. */
type Followed = {
  workspaceId: string;
  tail: Tail;
  cuts: Cuts;
  live: ReturnType<typeof createLive>;
  /** The last poll whose result was applied. */
  read: number;
  streams: Set<Stream>;
  grewAt: number;
};
type Stream = {
  holder: Omit<StreamHolder, "workspaceId"> | undefined;
  ended: StreamEnd | undefined;
  /** New events are pushed to it. */
  isLive: boolean;
  notify(): void;
};

export type FollowerDeps = {
  sql: Sql;
  log: Log;
  wake: Wake;
  catchUp: Pick<CatchUp, "bounds" | "pushTurn" | "pageInMemory" | "keep">;
  limits?: StreamLimits;
  part?: ProcessPart;
};

export type StreamLimits = { total: number; factor: number };

export function createFollower(deps: FollowerDeps): Follower {
  const followed = new Map<string, Followed>();
  const { total, factor } = deps.limits ?? defaultLimits;
  const streams = createBudget({ total: partOf(total, deps.part ?? onlyProcess), factor });
  let reads = 0;
  let timer: NodeJS.Timeout | undefined;
  let unsubscribe = () => {};

  const isBusy = (log: Followed) => performance.now() - log.grewAt < busyMs;
  const pollBusy = oneAtATime(() => poll(isBusy));
  // A query for many quiet logs is slow. It runs at most a quarter of the time, and busy logs do not wait for it.
  const pollQuiet = oneAtATime(() => poll((log) => !isBusy(log)), { pauseFactor: 3 });
  const pollLogs = () => {
    pollBusy();
    pollQuiet();
  };

  async function poll(which: (log: Followed) => boolean): Promise<void> {
    const logs = [...followed.values()].filter(which);
    if (logs.length === 0) return;
    const known = logs.map(({ workspaceId, tail, cuts }) => ({
      workspaceId,
      after: tail.head(),
      afterId: tail.headId(),
      cuts,
    }));
    const read = ++reads;
    for (const found of await readNewEvents(deps.sql, known, maxEvents)) {
      // The last stream of the log may have closed during the query, and a later query may have been faster.
      const log = followed.get(found.workspaceId);
      if (!log || log.read > read) continue;
      log.read = read;
      if (found.wentBack && !isContinued(log.cuts, found.cuts)) await recordCut(log, found);
      else append(log, found);
    }
  }

  /** The database was restored without a trace while streams followed this log. The next poll finds the cut. */
  async function recordCut({ workspaceId, tail }: Followed, { last }: NewEvents): Promise<void> {
    const stored =
      (await newestStored(deps.sql, workspaceId, tail.known())) ?? (await estimateShared(workspaceId, tail));
    const shared = stored < last ? stored : last;
    deps.log.warn(
      { workspaceId, shared: shared.toString() },
      "the database lost events that streams have sent: the event log is cut, and the readers get the cursor to resume from",
    );
    await cutLog(deps.sql, workspaceId, shared, makeCutLetters());
    pollLogs();
  }

  async function estimateShared(workspaceId: string, tail: Tail): Promise<bigint> {
    const eventId = tail.known()[0]?.id;
    if (eventId === undefined) return 0n;
    const bounds = await eventBounds(deps.sql, workspaceId);
    return await sharedBefore(deps.sql, workspaceId, { eventId, number: tail.head(), bounds });
  }

  function append(log: Followed, { events, last, cuts }: NewEvents): void {
    const isCut = !isSameLog(log.cuts, cuts);
    if (isCut) applyCuts(log, { last, cuts });
    // The events of a log that was cut follow a number of the old log.
    const added = isCut ? [] : events.filter((event) => log.tail.add(event));
    if (added.length === 0 && !isCut) return;
    log.grewAt = performance.now();
    for (const stream of log.streams) if (isCut || !stream.isLive) stream.notify();
    log.live.push();
    // The log has more new events than one page. It counts as busy now, so this polls it again at once.
    if (log.tail.head() < last) pollBusy();
  }

  /** Forgets the events that the log has lost. */
  function applyCuts(log: Followed, { last, cuts }: { last: bigint; cuts: Cuts }): void {
    const shared = lastSharedSince(log.cuts, cuts) ?? last;
    const end = shared < last ? shared : last;
    if (end < log.tail.head()) log.tail = createTail(end);
    log.cuts = cuts;
  }

  const checkKeys = oneAtATime(async () => {
    const holders = [...followed.values()].flatMap(({ workspaceId, streams }) => {
      const unique = new Map([...streams].flatMap(({ holder }) => (holder ? [[nameOf(holder), holder]] : [])));
      return [...unique.values()].map((holder) => ({ ...holder, workspaceId }));
    });
    if (holders.length === 0) return;
    for (const { workspaceId, changed, ...ended } of await revokedAmong(deps.sql, holders)) {
      for (const stream of followed.get(workspaceId)?.streams ?? []) {
        if (!stream.holder || nameOf(stream.holder) !== nameOf(ended)) continue;
        stream.ended = changed ? "changed" : "revoked";
        stream.notify();
      }
    }
  });

  /** A call while the work is running makes it run once more, so that no wake-up is lost. Each pause is `pauseFactor` times the run. */
  function oneAtATime(work: () => Promise<void>, { pauseFactor = 0 } = {}): () => void {
    let running = false;
    let again = false;
    return async () => {
      again = true;
      if (running) return;
      running = true;
      while (again) {
        again = false;
        const began = performance.now();
        await work().catch((error) => {
          if (!isDatabaseAway(error)) deps.log.error({ err: error }, "following the event logs failed; retrying");
        });
        if (pauseFactor > 0) await delay(pauseFactor * (performance.now() - began), undefined, { ref: false });
      }
      running = false;
    };
  }

  function createFollowed(workspaceId: string, bounds: Subscription["bounds"]): Followed {
    const tail = createTail(bounds.last, bounds.lastId);
    const view = {
      head: () => log.tail.head(),
      cuts: () => log.cuts,
      after: (number: bigint) => log.tail.after(number),
    };
    const live = createLive({ workspaceId, log: view, catchUp: deps.catchUp });
    const log: Followed = {
      ...{ workspaceId, tail, live, cuts: bounds.cuts },
      ...{ read: 0, streams: new Set<Stream>(), grewAt: -busyMs },
    };
    return log;
  }

  async function open(workspaceId: string, holder: Stream["holder"]): Promise<Subscription> {
    // The newest number is read before the stream is added. The next poll finds events that are written in between.
    const bounds = await deps.catchUp.bounds(workspaceId);
    const log = followed.get(workspaceId) ?? createFollowed(workspaceId, bounds);
    followed.set(workspaceId, log);
    const notifier = createNotifier();
    const stream: Stream = { holder, ended: undefined, isLive: false, notify: notifier.notify };
    log.streams.add(stream);
    return {
      bounds,
      head: () => log.tail.head(),
      headId: () => log.tail.headId(),
      cuts: () => log.cuts,
      refresh: () => poll((one) => one === log),
      recent(after, cuts) {
        if (!isSameLog(log.cuts, cuts)) throw new LogWasCut("the event log was cut");
        return log.tail.after(after);
      },
      waitForNews: notifier.wait,
      goLive(options) {
        stream.isLive = true;
        const live = log.live.add({ ...options, wake: stream.notify });
        const leave = () => {
          stream.isLive = false;
          live.leave();
        };
        return { ...live, leave };
      },
      ended: () => stream.ended,
      close() {
        if (!log.streams.delete(stream)) return;
        streams.give(workspaceId, 1);
        if (log.streams.size === 0 && followed.get(workspaceId) === log) followed.delete(workspaceId);
      },
    };
  }

  return {
    async subscribe(workspaceId, holder) {
      if (!streams.tryTake(workspaceId, 1)) throw tooManyStreams();
      try {
        return await open(workspaceId, holder);
      } catch (error) {
        streams.give(workspaceId, 1);
        throw error;
      }
    },
    size: () => [...followed.values()].reduce((sum, log) => sum + log.streams.size, 0),
    start() {
      unsubscribe = deps.wake.on("events", pollLogs);
      timer = setInterval(() => {
        pollLogs();
        checkKeys();
      }, pollMs);
    },
    stop() {
      unsubscribe();
      clearInterval(timer);
    },
  };
}

/** Streams that a key opened before and after a change of its limits are checked separately. */
function nameOf({ id, limitsVersion = 0 }: Omit<StreamHolder, "workspaceId">): string {
  return `${id} ${limitsVersion}`;
}

function tooManyStreams(): Problem {
  return new Problem(
    "resource_exhausted",
    "This workspace has too many event streams open on this node. Close some, or share one stream between your readers.",
    { retryAfterMs: 5_000 },
  );
}

/** A notification without a waiter is kept for the next `wait`. */
function createNotifier() {
  let pending = false;
  let wake = () => {};
  return {
    notify() {
      pending = true;
      wake();
    },
    async wait(withinMs: number, signal: AbortSignal): Promise<void> {
      if (!pending && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const done = () => {
            clearTimeout(limit);
            signal.removeEventListener("abort", done);
            wake = () => {};
            resolve();
          };
          const limit = setTimeout(done, withinMs);
          wake = done;
          signal.addEventListener("abort", done, { once: true });
        });
      }
      pending = false;
    },
  };
}

/** The newest events of one log in memory, for streams that are up to date. Limited by count and by size. */
export type Tail = {
  head(): bigint;
  headId(): string | undefined;
  /** The events after a number; undefined when some of them are no longer in memory. */
  after(number: bigint): readonly StoredEvent[] | undefined;
  /** The number and id of the events in memory, and of the one before them if it is known. */
  known(): { number: string; id: string }[];
  /** False for an event that was added before. */
  add(event: StoredEvent): boolean;
};

const maxTailEvents = 512;
const maxTailCharacters = 1024 * 1024;

export function createTail(last: bigint, lastId?: string): Tail {
  let head = last;
  let headId = lastId;
  let before = lastId === undefined ? undefined : { number: last.toString(), id: lastId };
  let kept: { event: StoredEvent; weight: number }[] = [];
  let weight = 0;
  return {
    head: () => head,
    headId: () => headId,
    known: () => [...(before ? [before] : []), ...kept.map(({ event }) => event)],
    after(number) {
      const first = head - BigInt(kept.length);
      return number < first ? undefined : kept.slice(Number(number - first)).map(({ event }) => event);
    },
    add(event) {
      const number = BigInt(event.number);
      if (number <= head) return false;
      // Retention deleted events before this node read them. A stream that needs them reads the store, which reports the gap.
      if (number !== head + 1n) {
        kept = [];
        weight = 0;
        before = undefined;
      }
      head = number;
      headId = event.id;
      kept.push({ event, weight: weightOf(event) });
      weight += kept.at(-1)!.weight;
      let dropped = 0;
      while (kept.length - dropped > maxTailEvents || weight > maxTailCharacters) weight -= kept[dropped++]!.weight;
      if (dropped > 0) before = kept.splice(0, dropped).at(-1)!.event;
      return true;
    },
  };
}
