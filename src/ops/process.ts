/** What the operating system gives this process: the priority of its threads and the number of files and sockets it may have open. */
import { randomFill } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { getPriority, setPriority } from "node:os";
import { promisify } from "node:util";

/**
 * A thread at nice 5 gets a third of the CPU time of the event loop or PostgreSQL on a contended core. At nice 19, mail waited
 * minutes for its signature while another program kept every core busy (docs/decisions/0018).
 */
const niceness = 5;

/**
 * Lowers the priority of libuv's threads, which sign and compress and can fill every core. Called once when delivery starts.
 * Returns the number of threads that it changed: 0 outside Linux, where threads have no priority of their own, and where the
 * system forbids it. At equal priority, a tenant's flood of mail to sign makes other tenants' statements wait for the CPU.
 */
export async function lowerThreadPriority(): Promise<number> {
  if (process.platform !== "linux") return 0;
  // libuv starts its threads with their first task.
  await promisify(randomFill)(Buffer.alloc(1));
  let lowered = 0;
  for (const id of await readdir("/proc/self/task").catch(() => [])) {
    try {
      if ((await readFile(`/proc/self/task/${id}/comm`, "latin1")).trim() !== "libuv-worker") continue;
      setPriority(Number(id), Math.max(niceness, getPriority()));
      lowered++;
    } catch {
      // The thread has ended, or the system forbids the change.
    }
  }
  return lowered;
}

type UserLimits = { userLimits?: { open_files?: { soft?: number | string } } };

/** The number of files and sockets that the process may have open; undefined where the system reports none, or has no limit. Node raises the
 * soft limit to the hard one when it starts. */
export function openFilesLimit(): number | undefined {
  const report = process.report.getReport() as UserLimits;
  const limit = Number(report.userLimits?.open_files?.soft);
  return Number.isFinite(limit) && limit > 0 ? limit : undefined;
}
