/** libuv's threads sign and compress: long work that fills every core. They are asked to step back for whoever answers somebody. */
import { randomFill } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { getPriority, setPriority } from "node:os";
import { promisify } from "node:util";

/**
 * As `nice` counts: a third of what the event loop or the database gets of a core that all of them want. Not the lowest priority: while
 * another program keeps every core busy, mail would wait minutes for its signature (docs/decisions/0018).
 */
const niceness = 5;

/**
 * On Linux, where a thread has a priority of its own; elsewhere, and where it is not allowed, everything goes on as it was. Without it a
 * flood of mail to sign made the few milliseconds of everybody else's statements wait for the processor at every step.
 */
export async function yieldToOthers(): Promise<number> {
  if (process.platform !== "linux") return 0;
  // The threads are started by the first work that they get.
  await promisify(randomFill)(Buffer.alloc(1));
  let yielding = 0;
  for (const id of await readdir("/proc/self/task").catch(() => [])) {
    try {
      if ((await readFile(`/proc/self/task/${id}/comm`, "latin1")).trim() !== "libuv-worker") continue;
      setPriority(Number(id), Math.max(niceness, getPriority()));
      yielding++;
    } catch {
      // A thread that has ended, or a system that does not let us.
    }
  }
  return yielding;
}
