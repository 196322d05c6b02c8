/** Wake-ups between loops and nodes, over NOTIFY: "mail is due", "there are new events". They can get lost, so listeners also poll. */
import type { Log } from "../ops/log.ts";
import type { Sql } from "./pool.ts";

export const topics = ["mail", "events"] as const;
export type Topic = (typeof topics)[number];

/** What has changed, as strings without line breaks that the listener understands; empty when anything may have changed. */
export type Hints = readonly string[];

export type Wake = {
  /** Calls `listener` after each `notify(topic)` on any node. Returns the function that unsubscribes. */
  on(topic: Topic, listener: (hints: Hints) => void): () => void;
  /** Calls the listeners of this process at once, and those of other nodes within milliseconds. */
  notify(topic: Topic, hints?: Hints): void;
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** NOTIFY takes a cluster-wide lock until its commit, so this process sends at most one per interval, never one per row. */
const debounceMs = 5;
/** A NOTIFY payload has less than 8,000 bytes. When the hints do not fit, the payload is empty. */
const maxHintBytes = 7000;

export function createWake(deps: { sql: Sql; log: Log }): Wake {
  const listeners = new Map<Topic, Set<(hints: Hints) => void>>(topics.map((topic) => [topic, new Set()]));
  /** The hints to send per topic; undefined when anything may have changed. */
  const pending = new Map<Topic, Set<string> | undefined>();
  let timer: NodeJS.Timeout | undefined;
  let sentAt = -debounceMs;
  let sending = Promise.resolve();
  let unlisten: (() => Promise<void>)[] = [];

  const callListeners = (topic: Topic, hints: Hints) => {
    for (const listener of listeners.get(topic)!) listener(hints);
  };
  const send = () => {
    timer = undefined;
    sentAt = performance.now();
    const batch = [...pending];
    pending.clear();
    sending = sending.then(() =>
      deps.sql
        .notify(batch.map(([topic, hints]) => ({ channel: `posthorn_${topic}`, payload: payloadOf(hints) })))
        .catch((error: Error) => deps.log.debug({ reason: error.message }, "wake-up not sent; other nodes will poll")),
    );
  };

  return {
    on(topic, listener) {
      listeners.get(topic)!.add(listener);
      return () => listeners.get(topic)!.delete(listener);
    },
    notify(topic, hints = []) {
      callListeners(topic, hints);
      const collected = pending.get(topic);
      if (hints.length === 0) pending.set(topic, undefined);
      else if (!pending.has(topic)) pending.set(topic, new Set(hints));
      else for (const hint of hints) collected?.add(hint);
      // The first one after a pause is sent at once.
      timer ??= setTimeout(send, Math.max(0, sentAt + debounceMs - performance.now()));
    },
    async start() {
      for (const topic of topics) {
        const { unlisten: end } = await deps.sql.listen(`posthorn_${topic}`, (payload) =>
          callListeners(topic, payload === "" ? [] : payload.split("\n")),
        );
        unlisten.push(end);
      }
    },
    async stop() {
      clearTimeout(timer);
      if (pending.size > 0) send();
      await sending;
      for (const end of unlisten) await end().catch(() => {});
      unlisten = [];
    },
  };
}

function payloadOf(hints: ReadonlySet<string> | undefined): string {
  const payload = [...(hints ?? [])].join("\n");
  return Buffer.byteLength(payload) <= maxHintBytes ? payload : "";
}
