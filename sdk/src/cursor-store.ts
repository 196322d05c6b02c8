/** Stores the cursor of an event stream, so that a restarted process resumes after the last event that it handled. */

/** A store holds the cursor of one stream. Streams with different filters need separate stores. */
export interface CursorStore {
  /** The saved cursor, or undefined before the first save. */
  load(): Promise<string | undefined> | string | undefined;
  save(cursor: string): Promise<void> | void;
}

/** Keeps the cursor in memory until the process ends. */
export function memoryCursorStore(cursor?: string): CursorStore {
  let current = cursor;
  return {
    load: () => current,
    save(next) {
      current = next;
    },
  };
}

/** Saves the newest cursor in the background, one write at a time, so that a slow store does not slow down the stream. */
export function createSaver(store: CursorStore | undefined) {
  let newest: string | undefined;
  let saved: string | undefined;
  let running: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;

  async function saveAll(store: CursorStore): Promise<void> {
    try {
      while (newest !== saved) {
        const cursor = newest!;
        await store.save(cursor);
        saved = cursor;
      }
    } catch (error) {
      failure = { error };
    } finally {
      running = undefined;
    }
  }

  return {
    /** Throws the error of an earlier failed save, so that the stream stops when its cursor cannot be saved. */
    save(cursor: string): void {
      if (failure) throw failure.error;
      if (!store || cursor === newest) return;
      newest = cursor;
      running ??= saveAll(store);
    },
    async flush(): Promise<void> {
      await running;
      if (failure) throw failure.error;
    },
  };
}
