/** What SIGHUP means for a program with several processes: a closed terminal ends it, and otherwise the signal asks for a restart. Called by
 * commands/start.ts. */
import { closeSync, openSync, readFileSync } from "node:fs";

/** Read at the start: at the signal, the terminal may be gone already. */
export function hangUpStops(): boolean {
  return hasTerminal() && !isIgnored();
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

/** nohup starts a program that is to survive its terminal. SIGHUP is signal 1, the lowest bit. */
function isIgnored(): boolean {
  try {
    const [, mask] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return mask !== undefined && (BigInt(`0x${mask}`) & 1n) === 1n;
  } catch {
    return false;
  }
}
