/** A line on the terminal that a long command rewrites. Without a terminal nothing is written. Used by workspace-removal.ts and exports. */

const everyMs = 200;

export function showProgress(stream: NodeJS.WriteStream = process.stderr) {
  let shownAt = Number.NEGATIVE_INFINITY;
  let wasShown = false;
  return {
    show(text: string): void {
      if (!stream.isTTY || performance.now() - shownAt < everyMs) return;
      shownAt = performance.now();
      wasShown = true;
      stream.write(`\r\x1b[K${text}`);
    },
    end(): void {
      if (wasShown) stream.write("\r\x1b[K");
    },
  };
}
