/** Reads that many callers want at once: who asks in the same turn of the event loop, or while one look-up is under way, shares the next,
 * so that load makes batches and not queues. */

export type Loader<Key, Value> = (key: Key) => Promise<Value>;

export function createLoader<Key, Value>(load: (keys: Key[]) => Promise<Value[]>, maxKeys = 500): Loader<Key, Value> {
  let waiting: { key: Key; resolve(value: Value): void; reject(error: unknown): void }[] = [];
  let asking = false;

  async function askAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maxKeys);
      waiting = waiting.slice(maxKeys);
      try {
        const values = await load(batch.map((one) => one.key));
        for (const [i, one] of batch.entries()) one.resolve(values[i] as Value);
      } catch (error) {
        for (const one of batch) one.reject(error);
      }
    }
    asking = false;
  }

  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (asking) return;
      asking = true;
      setImmediate(askAll);
    });
}
