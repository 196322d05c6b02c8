/** Turns SIGINT and SIGTERM into an abort signal; repeats of one signal count once. bin/posthorn.js calls it before it loads other modules. */

/**
 * One Ctrl-C arrives up to three times: the terminal signals the whole foreground process group, npm forwards the signal, and so does
 * bin/posthorn.js under an older Node. Repeats within this time count as the first signal.
 */
export const repeatMs = 1000;

export const signals = ["SIGINT", "SIGTERM"] as const;

/** Aborted by the first signal. A signal that arrives after `repeatMs` calls `endNow`. */
export function listenForStop(endNow: (signal: NodeJS.Signals) => void = exitAtOnce): AbortSignal {
  const stop = new AbortController();
  let repeatsOver = false;
  for (const signal of signals) {
    process.on(signal, () => {
      if (repeatsOver) return endNow(signal);
      if (stop.signal.aborted) return;
      stop.abort();
      // On a busy event loop the timer fires late, before a repeat that arrived in time. The immediate runs after that repeat.
      setTimeout(() => setImmediate(() => (repeatsOver = true)), repeatMs).unref();
    });
  }
  return stop.signal;
}

/** Resolves when the signal is aborted, or at once if it already is. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function exitAtOnce(signal: NodeJS.Signals): void {
  process.stderr.write(
    `A second ${signal} ended Posthorn at once. Accepted mail is stored and will be delivered after the next start.\n`,
  );
  process.exit(1);
}
