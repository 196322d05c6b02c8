/** The progress of a long command, on standard error: a line with a bar that is rewritten on a terminal, and otherwise a plain line from time
 * to time. Used by imports, exports, backups and deletions. */
import { widthOf } from "../output.ts";

const redrawMs = 200;
/** Without a terminal: rarely, because the lines stay in a log. */
const reportMs = 30_000;
const barWidth = 24;

type Stream = Pick<NodeJS.WriteStream, "isTTY" | "columns"> & { write(text: string): unknown };

/** `nowMs` for tests. */
export function showProgress(stream: Stream = process.stderr, nowMs: () => number = () => performance.now()) {
  // A short command writes nothing into a log.
  let shownAt = stream.isTTY ? Number.NEGATIVE_INFINITY : nowMs();
  let wasShown = false;
  return {
    /** `share` from 0 to 1, where the total is known. */
    show(text: string, share?: number): void {
      if (nowMs() - shownAt < (stream.isTTY ? redrawMs : reportMs)) return;
      shownAt = nowMs();
      wasShown = true;
      if (stream.isTTY) stream.write(`\r\x1b[K${fitted(`${barOf(share)}${text}`, stream.columns)}`);
      else stream.write(`${share === undefined ? "" : `${percent(share)} `}${text}\n`);
    },
    end(): void {
      if (wasShown && stream.isTTY) stream.write("\r\x1b[K");
      wasShown = false;
    },
  };
}

function barOf(share: number | undefined): string {
  if (share === undefined) return "";
  const full = Math.round(Math.min(1, Math.max(0, share)) * barWidth);
  return `[${"#".repeat(full)}${"-".repeat(barWidth - full)}] ${percent(share)} `;
}

function percent(share: number): string {
  return `${String(Math.floor(Math.min(1, Math.max(0, share)) * 100)).padStart(3)} %`;
}

/** A line that wraps could not be rewritten. */
function fitted(line: string, columns: number | undefined): string {
  if (!columns || widthOf(line) < columns) return line;
  return line.slice(0, Math.max(0, columns - 1));
}
