/** Stores the cursor of an event stream, so that a restarted process resumes after the last event that it handled. */

/** A store holds the cursor of one stream. Streams with different filters need separate stores. */
export interface CursorStore {
  /** The saved cursor, or undefined before the first save. */
  load(): Promise<string | undefined> | string | undefined;
  /** `eventId` is the id of the event at the cursor, if the server has sent it. */
  save(cursor: string, eventId?: string): Promise<void> | void;
  /** The id that was saved with the cursor. With it, the server also detects a restored database that left no other trace. */
  loadEventId?(): Promise<string | undefined> | string | undefined;
}

/** A place in the event log. */
export interface Position {
  cursor: string;
  eventId: string | undefined;
}

export async function loadPosition(store: CursorStore | undefined): Promise<Position | undefined> {
  const cursor = await store?.load();
  return cursor === undefined ? undefined : { cursor, eventId: await store?.loadEventId?.() };
}

/** Keeps the cursor in memory until the process ends. */
export function memoryCursorStore(cursor?: string): CursorStore {
  let current = cursor;
  let currentId: string | undefined;
  return {
    load: () => current,
    loadEventId: () => currentId,
    save(next, eventId) {
      current = next;
      currentId = eventId;
    },
  };
}

/** Saves the newest cursor in the background, one write at a time, so that a slow store does not slow down the stream. */
export function createSaver(store: CursorStore | undefined) {
  let newest: Position | undefined;
  let saved: Position | undefined;
  let running: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;

  async function saveAll(store: CursorStore): Promise<void> {
    try {
      while (newest !== saved) {
        const position = newest!;
        await store.save(position.cursor, position.eventId);
        saved = position;
      }
    } catch (error) {
      failure = { error };
    } finally {
      running = undefined;
    }
  }

  return {
    /** Throws the error of an earlier failed save, so that the stream stops when its cursor cannot be saved. */
    save(position: Position): void {
      if (failure) throw failure.error;
      if (!store || position.cursor === newest?.cursor) return;
      newest = position;
      running ??= saveAll(store);
    },
    async flush(): Promise<void> {
      await running;
      if (failure) throw failure.error;
    },
  };
}
