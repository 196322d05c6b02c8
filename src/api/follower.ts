/** Follows the event logs that somebody on this node streams: one question for all of them, however many streams are open. Each
 * workspace's latest events are kept, so that live streams ask the store nothing at all. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import { eventBounds, readNewEvents, type StoredEvent } from "../store/events.ts";
import { revokedAmong } from "../store/keys.ts";
import type { Wake } from "../store/wake.ts";
import { createTail, type Tail } from "./tail.ts";

export type Subscription = {
  /** The newest number this node knows of. */
  head(): bigint;
  /** Events after a number from memory; undefined when the number is older than what is kept here, so that the store must be asked. */
  recent(after: bigint): readonly StoredEvent[] | undefined;
  /** Resolves with the next news, or after the time given. */
  news(withinMs: number, signal: AbortSignal): Promise<void>;
  /** The key of this stream was revoked. */
  revoked(): boolean;
  close(): void;
};

export type Follower = {
  /** `keyId`: the key or session that the stream ends with; undefined where none is needed. */
  subscribe(workspaceId: string, keyId: string | undefined): Promise<Subscription>;
  /** Streams open on this node. */
  size(): number;
  start(): void;
  stop(): void;
};

/** Wake-ups are hints: this often the logs are looked at anyway, and so are the keys. */
const pollMs = 1000;
const batch = 512;

/** A log that has grown within this time is likely to grow again. */
const busyMs = 10_000;

type Followed = { workspaceId: string; tail: Tail; streams: Set<Stream>; grewAt: number };
type Stream = { keyId: string | undefined; revoked: boolean; ring(): void };

export function createFollower(deps: { sql: Sql; log: Log; wake: Wake }): Follower {
  const followed = new Map<string, Followed>();
  let timer: NodeJS.Timeout | undefined;
  let unsubscribe = () => {};

  const isBusy = (log: Followed) => performance.now() - log.grewAt < busyMs;
  const lookAtBusy = oneAtATime(() => lookAt(isBusy));
  // Many quiet logs make a long question: it takes a quarter of the time at most, and the busy ones never wait for it.
  const lookAtQuiet = oneAtATime(() => lookAt((log) => !isBusy(log)), { restFactor: 3 });
  const lookAtLogs = () => {
    lookAtBusy();
    lookAtQuiet();
  };

  async function lookAt(which: (log: Followed) => boolean): Promise<void> {
    const logs = [...followed.values()].filter(which);
    if (logs.length === 0) return;
    const known = logs.map(({ workspaceId, tail }) => ({ workspaceId, after: tail.head() }));
    const grown = new Map<Followed, bigint>();
    for (const row of await readNewEvents(deps.sql, known, batch)) {
      // A log whose last stream has gone meanwhile is nobody's any more.
      const log = followed.get(row.workspaceId);
      if (log?.tail.add(row)) grown.set(log, BigInt(row.last));
    }
    for (const [log, last] of grown) {
      log.grewAt = performance.now();
      for (const stream of log.streams) stream.ring();
      // More than one page of news: the log is a busy one now, and is looked at again at once.
      if (log.tail.head() < last) lookAtBusy();
    }
  }

  const lookAtKeys = oneAtATime(async () => {
    const holders = [...followed.values()].flatMap(({ workspaceId, streams }) =>
      [...new Set([...streams].flatMap(({ keyId }) => keyId ?? []))].map((id) => ({ id, workspaceId })),
    );
    if (holders.length === 0) return;
    for (const { id, workspaceId } of await revokedAmong(deps.sql, holders)) {
      for (const stream of followed.get(workspaceId)?.streams ?? []) {
        if (stream.keyId !== id) continue;
        stream.revoked = true;
        stream.ring();
      }
    }
  });

  /** What is asked for while it runs is done right after, or after a rest that is so many times as long: no wake-up is lost. */
  function oneAtATime(work: () => Promise<void>, { restFactor = 0 } = {}): () => void {
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
          if (!isDatabaseAway(error)) deps.log.error({ err: error }, "following the event logs failed and goes on");
        });
        if (restFactor > 0) await delay(restFactor * (performance.now() - began), undefined, { ref: false });
      }
      running = false;
    };
  }

  return {
    async subscribe(workspaceId, keyId) {
      // The newest number is asked for before the stream is entered: what comes in between is found by the next look.
      const { last } = await eventBounds(deps.sql, workspaceId);
      const log = followed.get(workspaceId) ?? {
        workspaceId,
        tail: createTail(last),
        streams: new Set(),
        grewAt: -busyMs,
      };
      followed.set(workspaceId, log);
      const bell = createBell();
      const stream: Stream = { keyId, revoked: false, ring: bell.ring };
      log.streams.add(stream);
      return {
        head: log.tail.head,
        recent: log.tail.after,
        news: bell.rung,
        revoked: () => stream.revoked,
        close() {
          log.streams.delete(stream);
          if (log.streams.size === 0 && followed.get(workspaceId) === log) followed.delete(workspaceId);
        },
      };
    },
    size: () => [...followed.values()].reduce((sum, log) => sum + log.streams.size, 0),
    start() {
      unsubscribe = deps.wake.on("events", lookAtLogs);
      timer = setInterval(() => {
        lookAtLogs();
        lookAtKeys();
      }, pollMs);
    },
    stop() {
      unsubscribe();
      clearInterval(timer);
    },
  };
}

/** A ring that comes while nobody waits is kept for the next who does. */
function createBell() {
  let kept = false;
  let wake = () => {};
  return {
    ring() {
      kept = true;
      wake();
    },
    async rung(withinMs: number, signal: AbortSignal): Promise<void> {
      if (!kept && !signal.aborted) {
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
      kept = false;
    },
  };
}
