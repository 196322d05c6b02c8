/** Ends a call on time: one signal out of the caller's own signal and a clock. */
import { PosthornError } from "./error.ts";

export interface Deadline {
  signal: AbortSignal;
  remainingMs(): number;
  /** Why the signal fired, as the error that the caller gets; undefined while it has not. */
  error(): PosthornError | undefined;
  /** Lets go of the clock and of the caller's signal. */
  clear(): void;
}

export function startDeadline(timeoutMs: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const end = performance.now() + timeoutMs;
  let error: PosthornError | undefined;
  const stop = (reason: PosthornError) => {
    error ??= reason;
    controller.abort(error);
  };
  const onAbort = () => stop(canceled(caller));
  const timer =
    timeoutMs < maxTimerMs
      ? setTimeout(
          () => stop(new PosthornError("deadline_exceeded", `No answer came within ${timeoutMs} ms.`)),
          timeoutMs,
        )
      : undefined;
  caller?.addEventListener("abort", onAbort, { once: true });
  if (caller?.aborted) onAbort();
  return {
    signal: controller.signal,
    remainingMs: () => Math.max(0, end - performance.now()),
    error: () => error,
    clear() {
      clearTimeout(timer);
      caller?.removeEventListener("abort", onAbort);
    },
  };
}

/** Waits; an abort ends the wait early without an error, so that the caller looks at the signal itself. */
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
  return new PosthornError("canceled", "The call was canceled by its signal.", { cause: signal?.reason });
}

/** Timers take no longer time; a caller who asks for more wants no limit. */
const maxTimerMs = 2 ** 31;
