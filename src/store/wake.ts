/** Wake-ups between parts and nodes: "there is mail due", "there are new events". A hint, never the truth: whoever waits also polls. */
import type { Log } from "../ops/log.ts";
import type { Sql } from "./db.ts";

export const topics = ["mail", "events"] as const;
export type Topic = (typeof topics)[number];

/** What has changed, as words without line breaks that the listener understands; empty: anything may have. */
export type Hints = readonly string[];

export type Wake = {
  /** Calls `listener` soon after anybody, on any node, says `tell(topic)`. Returns the way to unsubscribe. */
  on(topic: Topic, listener: (hints: Hints) => void): () => void;
  /** Heard at once in this process, and within milliseconds on the others. */
  tell(topic: Topic, hints?: Hints): void;
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** NOTIFY takes a lock of the whole cluster until its commit: at most one in this time for all that happened, never one per row. */
const debounceMs = 5;
/** PostgreSQL carries less than 8,000 bytes with a NOTIFY; more hints than fit are told as none. */
const maxHintBytes = 7000;

export function createWake(deps: { sql: Sql; log: Log }): Wake {
  const listeners = new Map<Topic, Set<(hints: Hints) => void>>(topics.map((topic) => [topic, new Set()]));
  /** Undefined: anything may have changed. */
  const due = new Map<Topic, Set<string> | undefined>();
  let timer: NodeJS.Timeout | undefined;
  let sentAt = -debounceMs;
  let sending = Promise.resolve();
  let unlisten: (() => Promise<void>)[] = [];

  const hear = (topic: Topic, hints: Hints) => {
    for (const listener of listeners.get(topic)!) listener(hints);
  };
  const send = () => {
    timer = undefined;
    sentAt = performance.now();
    const told = [...due];
    due.clear();
    sending = sending.then(() =>
      deps.sql
        .notify(told.map(([topic, hints]) => ({ channel: `posthorn_${topic}`, words: wordsOf(hints) })))
        .catch((error: Error) => deps.log.debug({ reason: error.message }, "wake-up not sent; others will poll")),
    );
  };

  return {
    on(topic, listener) {
      listeners.get(topic)!.add(listener);
      return () => listeners.get(topic)!.delete(listener);
    },
    tell(topic, hints = []) {
      hear(topic, hints);
      const known = due.get(topic);
      if (hints.length === 0) due.set(topic, undefined);
      else if (!due.has(topic)) due.set(topic, new Set(hints));
      else for (const hint of hints) known?.add(hint);
      // The first after a pause goes out at once.
      timer ??= setTimeout(send, Math.max(0, sentAt + debounceMs - performance.now()));
    },
    async start() {
      // Listened to on a connection of its own, which the driver opens anew when it is lost.
      for (const topic of topics) {
        const { unlisten: end } = await deps.sql.listen(`posthorn_${topic}`, (words) =>
          hear(topic, words === "" ? [] : words.split("\n")),
        );
        unlisten.push(end);
      }
    },
    async stop() {
      clearTimeout(timer);
      if (due.size > 0) send();
      await sending;
      for (const end of unlisten) await end().catch(() => {});
      unlisten = [];
    },
  };
}

function wordsOf(hints: ReadonlySet<string> | undefined): string {
  const words = [...(hints ?? [])].join("\n");
  return Buffer.byteLength(words) <= maxHintBytes ? words : "";
}
