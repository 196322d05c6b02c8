/** Ends streams that nobody reads: a peer that holds its connection open and takes nothing would keep its buffers for ever. */
import type { Response } from "./http.ts";

const lookMs = 5_000;

/** Destroys an answer whose socket has been full for `stallMs` without a break. The reader resumes from its last cursor. */
export function endWhenStalled(response: Response, stallMs: number): void {
  let fullSince: number | undefined;
  const timer = setInterval(
    () => {
      if (!response.writableNeedDrain) fullSince = undefined;
      else if (fullSince === undefined) fullSince = performance.now();
      else if (performance.now() - fullSince >= stallMs) response.destroy();
    },
    Math.min(lookMs, stallMs / 4),
  );
  timer.unref();
  response.once("close", () => clearInterval(timer));
}
