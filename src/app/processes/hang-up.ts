/** What SIGHUP means for a program with several processes: a closed terminal ends it, and otherwise the signal asks for a restart. Called by
 * commands/start.ts. */
import { closeSync, openSync } from "node:fs";
import { isatty } from "node:tty";

/**
 * Read at the start: at the signal, the terminal may be gone already. A program without output to its terminal, such as one under nohup, is to
 * survive it. That nohup makes the shell ignore the signal does not show, because Node resets ignored signals at its start.
 */
export function hangUpStops(): boolean {
  return hasTerminal() && (isatty(1) || isatty(2));
}

/** Whether the process has a controlling terminal, whatever its output is. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}
