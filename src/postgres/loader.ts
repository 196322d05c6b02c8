/**
 * Batches reads: callers of the same turn of the event loop, or that arrive during a query, share the next query.
 * Used by services and by delivery for lookups by key.
 */
import { outsideCalls } from "./call-scope.ts";

export type Loader<Key, Value> = (key: Key) => Promise<Value>;

export function createLoader<Key, Value>(load: (keys: Key[]) => Promise<Value[]>, maxKeys = 500): Loader<Key, Value> {
  let queue: { key: Key; resolve(value: Value): void; reject(error: unknown): void }[] = [];
  let loading = false;

  async function loadBatches(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, maxKeys);
      queue = queue.slice(maxKeys);
      try {
        const values = await load(batch.map((waiter) => waiter.key));
        for (const [i, waiter] of batch.entries()) waiter.resolve(values[i] as Value);
      } catch (error) {
        for (const waiter of batch) waiter.reject(error);
      }
    }
    loading = false;
  }

  return (key) =>
    new Promise((resolve, reject) => {
      queue.push({ key, resolve, reject });
      if (loading) return;
      loading = true;
      outsideCalls(() => setImmediate(loadBatches));
    });
}
