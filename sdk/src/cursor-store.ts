/** Where a stream of events keeps its place, so that a restarted process goes on after the last event it handled. */

/** One place for one stream. Two streams with different filters need two. */
export interface CursorStore {
  /** The saved cursor, or undefined before the first. */
  load(): Promise<string | undefined> | string | undefined;
  save(cursor: string): Promise<void> | void;
}

/** Keeps the place as long as the process lives. */
export function memoryCursorStore(cursor?: string): CursorStore {
  let kept = cursor;
  return {
    load: () => kept,
    save(next) {
      kept = next;
    },
  };
}

/** Saves in the background, one write at a time and always the newest cursor, so that a slow store does not slow the stream. */
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
    /** Throws what an earlier save failed with: a place that cannot be kept must not go unnoticed. */
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
