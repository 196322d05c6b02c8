/** Ends requests before their response: when the time limit has passed, or when their caller aborts. An AbortSignal of its own for each request,
 * combined by AbortSignal.any, took longer than preparing the request. Used by post.ts. */

export type Ending = {
  /** Why the request must end; undefined while it may go on. */
  reason(): Error | undefined;
  /** Called once when the request must end. */
  listen(listener: () => void): void;
  unlisten(): void;
  /** For lookups, which take a signal. */
  signal(): AbortSignal;
  /** The request has ended. */
  done(): void;
};

export function createEndings(limit: { ms: number; error: string }) {
  const byCaller = new WeakMap<AbortSignal, Set<(reason: Error) => void>>();

  /** The requests of a caller share one listener at its signal. */
  function requestsOf(caller: AbortSignal): Set<(reason: Error) => void> {
    const known = byCaller.get(caller);
    if (known) return known;
    const requests = new Set<(reason: Error) => void>();
    caller.addEventListener("abort", () => {
      for (const end of requests) end(caller.reason as Error);
    });
    byCaller.set(caller, requests);
    return requests;
  }

  return {
    /** Begins the time limit. */
    start(caller: AbortSignal): Ending {
      let reason: Error | undefined = caller.aborted ? (caller.reason as Error) : undefined;
      let listener: (() => void) | undefined;
      let controller: AbortController | undefined;
      const end = (why: Error) => {
        if (reason) return;
        reason = why;
        controller?.abort(why);
        listener?.();
      };
      const requests = requestsOf(caller);
      requests.add(end);
      const timer = setTimeout(() => end(new Error(limit.error)), limit.ms);
      return {
        reason: () => reason,
        listen(added) {
          listener = added;
        },
        unlisten() {
          listener = undefined;
        },
        signal() {
          controller ??= new AbortController();
          if (reason) controller.abort(reason);
          return controller.signal;
        },
        done() {
          clearTimeout(timer);
          requests.delete(end);
        },
      };
    },
  };
}
