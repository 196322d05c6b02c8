/** Deadlines of calls: combines a timeout and the caller's signal into one AbortSignal. */
import { PosthornError } from "./error.ts";
import type { AbortSignal } from "./platform.ts";

/** setTimeout overflows at this value. A longer timeout counts as no limit. */
const maxTimerMs = 2 ** 31;

export interface Deadline {
  signal: AbortSignal;
  remainingMs(): number;
  /** The error for the caller after the signal has fired; undefined before. */
  error(): PosthornError | undefined;
  /** Resolves like `work`, or rejects when the signal fires, also if `work` does not watch the signal. */
  race<T>(work: Promise<T>): Promise<T>;
  /** Stops the timer and removes the listener from the caller's signal. */
  clear(): void;
}

export function startDeadline(timeoutMs: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const end = performance.now() + timeoutMs;
  let error: PosthornError | undefined;
  const waiting = new Set<(reason: PosthornError) => void>();
  const stop = (reason: PosthornError) => {
    error ??= reason;
    controller.abort(error);
    for (const reject of waiting) reject(error);
  };
  const onAbort = () => stop(canceled(caller));
  const timer =
    timeoutMs < maxTimerMs
      ? setTimeout(() => stop(new PosthornError("deadline_exceeded", `No response within ${timeoutMs} ms.`)), timeoutMs)
      : undefined;
  caller?.addEventListener("abort", onAbort, { once: true });
  if (caller?.aborted) onAbort();
  return {
    signal: controller.signal,
    remainingMs: () => Math.max(0, end - performance.now()),
    error: () => error,
    race: (work) =>
      new Promise((resolve, reject) => {
        waiting.add(reject);
        if (error) reject(error);
        work.then(resolve, reject).finally(() => waiting.delete(reject));
      }),
    clear() {
      clearTimeout(timer);
      caller?.removeEventListener("abort", onAbort);
    },
  };
}

/** Resolves after `ms`, or early when the signal fires. It does not throw: the caller checks the signal. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}

export function canceled(signal: AbortSignal | undefined): PosthornError {
  return new PosthornError("canceled", "The call was canceled by its AbortSignal.", { cause: signal?.reason });
}
