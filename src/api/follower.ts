/** Follows the event logs that somebody on this node streams: one question for all of them, however many streams are open. Each
 * workspace's latest events are kept, so that live streams ask the store nothing at all. */
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import { eventBounds, readNewEvents, type StoredEvent } from "../store/events.ts";
import { revokedAmong } from "../store/keys.ts";
import type { Wake } from "../store/wake.ts";

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
  subscribe(workspaceId: string, keyId: string): Promise<Subscription>;
  start(): void;
  stop(): void;
};

/** Wake-ups are hints: this often the logs are looked at anyway, and so are the keys. */
const pollMs = 1000;
const keptEvents = 512;
const batch = 512;

type Followed = { workspaceId: string; head: bigint; kept: StoredEvent[]; streams: Set<Stream> };
type Stream = { keyId: string; revoked: boolean; ring(): void };

export function createFollower(deps: { sql: Sql; log: Log; wake: Wake }): Follower {
  const followed = new Map<string, Followed>();
  let looking = false;
  let again = false;
  let timer: NodeJS.Timeout | undefined;
  let unsubscribe = () => {};

  async function look(): Promise<void> {
    if (followed.size === 0) return;
    const known = [...followed.values()].map(({ workspaceId, head }) => ({ workspaceId, after: head }));
    const rows = await readNewEvents(deps.sql, known, batch);
    for (const row of rows) {
      const log = followed.get(row.workspaceId);
      // A log whose last stream has gone meanwhile is nobody's any more; one that came anew may be further already.
      if (!log || BigInt(row.number) !== log.head + 1n) continue;
      log.head += 1n;
      log.kept.push(row);
    }
    for (const workspaceId of new Set(rows.map((row) => row.workspaceId))) {
      const log = followed.get(workspaceId);
      if (!log) continue;
      if (log.kept.length > keptEvents) log.kept = log.kept.slice(-keptEvents);
      for (const stream of log.streams) stream.ring();
    }
    if (rows.length >= batch) again = true;
  }

  /** News that come while the logs are looked at are looked at right after: no wake-up is lost. */
  async function lookAll(): Promise<void> {
    again = true;
    if (looking) return;
    looking = true;
    while (again) {
      again = false;
      await look().catch((error) => {
        if (!isDatabaseAway(error)) deps.log.error({ err: error }, "following the event logs failed and goes on");
      });
    }
    looking = false;
  }
  const stir = () => void lookAll();

  async function checkKeys(): Promise<void> {
    const streams = [...followed.values()].flatMap((log) => [...log.streams]);
    if (streams.length === 0) return;
    const revoked = await revokedAmong(deps.sql, [...new Set(streams.map((stream) => stream.keyId))]).catch(
      () => new Set<string>(),
    );
    for (const stream of streams) {
      if (!revoked.has(stream.keyId)) continue;
      stream.revoked = true;
      stream.ring();
    }
  }

  return {
    async subscribe(workspaceId, keyId) {
      // The tail is asked for before the stream is entered: what comes in between is found by the next look.
      const { last } = await eventBounds(deps.sql, workspaceId);
      const log = followed.get(workspaceId) ?? { workspaceId, head: last, kept: [], streams: new Set() };
      followed.set(workspaceId, log);
      let rung = false;
      let wake = () => {};
      const stream: Stream = {
        keyId,
        revoked: false,
        ring() {
          rung = true;
          wake();
        },
      };
      log.streams.add(stream);
      return {
        head: () => log.head,
        recent(after) {
          const first = log.head - BigInt(log.kept.length);
          return after < first ? undefined : log.kept.slice(Number(after - first));
        },
        async news(withinMs, signal) {
          if (!rung && !signal.aborted) {
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
          rung = false;
        },
        revoked: () => stream.revoked,
        close() {
          log.streams.delete(stream);
          if (log.streams.size === 0) followed.delete(workspaceId);
        },
      };
    },
    start() {
      unsubscribe = deps.wake.on("events", stir);
      timer = setInterval(() => {
        stir();
        void checkKeys();
      }, pollMs);
    },
    stop() {
      unsubscribe();
      clearInterval(timer);
    },
  };
}
