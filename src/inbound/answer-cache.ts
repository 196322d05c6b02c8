/** Keeps DNS answers in a thread that checks senders (thread.ts), because asking the main thread costs both threads more than a small message
 * does. Most mail comes from a few domains. */
import type { NodeAnswer } from "../dns/node-resolver.ts";

export type AnswerCache = {
  get(name: string, type: string): NodeAnswer | undefined;
  put(name: string, type: string, answer: NodeAnswer): void;
};

/** The answer comes from the resolver's cache, so it may be almost as old as its TTL allows. */
export const longestKeptMs = 10_000;
/** Together at most 2 MiB of the thread's heap. Senders choose names and records. */
const maxEntries = 1000;
const maxCharacters = 2048;

export function createAnswerCache(nowMs = () => performance.now()): AnswerCache {
  const entries = new Map<string, { answer: NodeAnswer; untilMs: number }>();
  const keyOf = (name: string, type: string) => `${type} ${name}`;
  return {
    get(name, type) {
      const entry = entries.get(keyOf(name, type));
      return entry && entry.untilMs > nowMs() ? copyOf(entry.answer) : undefined;
    },
    put(name, type, answer) {
      const key = keyOf(name, type);
      const keepMs = Math.min(answer.keepMs, longestKeptMs);
      if (keepMs <= 0 || key.length + JSON.stringify(answer).length > maxCharacters) return;
      // The entry that was added first is the one that ends first, or soon.
      entries.delete(key);
      if (entries.size >= maxEntries) entries.delete(entries.keys().next().value!);
      entries.set(key, { answer: copyOf(answer), untilMs: nowMs() + keepMs });
    },
  };
}

/** The library may change what it gets. */
function copyOf(answer: NodeAnswer): NodeAnswer {
  if ("code" in answer) return answer;
  return { ...answer, records: answer.records.map(copyOfRecord) };
}

function copyOfRecord(record: unknown): unknown {
  if (Array.isArray(record)) return [...record];
  return typeof record === "object" && record !== null ? { ...record } : record;
}
