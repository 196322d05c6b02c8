/** A figure that is slow to read: one read at a time, and the last value while the next one is late or fails. Used before each scrape. */
import { orAfter } from "./readiness.ts";

export type ReadingOptions<T> = {
  read(): Promise<T>;
  /** Waited for this long; a read that takes longer goes on and serves a later call. */
  withinMs: number;
  /** A value older than this is not given any more. */
  keepMs: number;
  /** A clock that never goes back. */
  nowMs(): number;
  onProblem(error: Error): void;
};

export type Reading<T> = {
  /** The newest value and its age; undefined when there is none that is young enough. */
  take(): Promise<{ value: T; ageSeconds: number } | undefined>;
  forget(): void;
};

export function createReading<T>({ read, withinMs, keepMs, nowMs, onProblem }: ReadingOptions<T>): Reading<T> {
  let last: { value: T; atMs: number } | undefined;
  let reading: Promise<void> | undefined;

  function start(): Promise<void> {
    const atMs = nowMs();
    return read()
      .then((value) => {
        last = { value, atMs };
      }, onProblem)
      .finally(() => {
        reading = undefined;
      });
  }

  return {
    async take() {
      reading ??= start();
      await orAfter(withinMs, reading, undefined);
      const ageMs = last ? nowMs() - last.atMs : 0;
      return last && ageMs <= keepMs ? { value: last.value, ageSeconds: ageMs / 1000 } : undefined;
    },
    forget() {
      last = undefined;
    },
  };
}
