/** The request to stop: SIGINT or SIGTERM, counted once however often it is passed on. bin/posthorn.js listens before it loads anything else. */

/**
 * A terminal signals the whole foreground group, npm passes the signal on, and bin/posthorn.js does too under an older Node: one Ctrl-C
 * arrives up to three times. Repeats within this time belong to the first.
 */
export const repeatMs = 1000;

export const signals = ["SIGINT", "SIGTERM"] as const;

/** Aborted by the first signal. A signal after the repeats have ended calls `endNow`. */
export function listenForStop(endNow: (signal: NodeJS.Signals) => void = exitAtOnce): AbortSignal {
  const stop = new AbortController();
  let isOver = false;
  for (const signal of signals) {
    process.on(signal, () => {
      if (isOver) return endNow(signal);
      if (stop.signal.aborted) return;
      stop.abort();
      // The timer may fire late, in the same turn as a repeat that arrived in time. The immediate runs after that repeat was handled.
      setTimeout(() => setImmediate(() => (isOver = true)), repeatMs).unref();
    });
  }
  return stop.signal;
}

/** Resolves when the signal is aborted, or at once when it is already. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function exitAtOnce(signal: NodeJS.Signals): void {
  process.stderr.write(
    `A second ${signal} ended Posthorn at once. Accepted mail is on disk and is delivered after the next start.\n`,
  );
  process.exit(1);
}
