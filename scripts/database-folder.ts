/** Chooses the folder of the test run's PostgreSQL: in memory if there is enough. The run creates and drops a database for nearly every
 * test, and ext4 without a journal skips over every file deleted in the last half minute before it creates a new one. Used by test.ts. */
import { chmod, mkdtemp, readdir, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const inMemory = "/dev/shm";
/** Ten times the space that a run was seen to use. */
const neededBytes = 8 * 2 ** 30;
const prefix = "posthorn-tests-";

/** Returns a folder for this process: one in memory, or the system's temporary folder. Removes folders that killed runs left in memory. */
export async function databaseFolder(memory = inMemory, needed = neededBytes): Promise<string> {
  const freeBytes = await statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  if (process.platform !== "linux" || Math.min(freeBytes, process.availableMemory()) < needed) return tmpdir();
  try {
    return await createIn(memory);
  } catch {
    // In some containers and chroots only root may write to /dev/shm.
    return tmpdir();
  }
}

async function createIn(memory: string): Promise<string> {
  for (const name of await readdir(memory)) {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : undefined;
    // The folder of another account cannot be removed and stays.
    if (pid && !isAlive(pid)) await rm(join(memory, name), { recursive: true, force: true }).catch(() => {});
  }
  const folder = await mkdtemp(join(memory, `${prefix}${process.pid}-`));
  // PostgreSQL does not run as root: if root starts it, it runs under another account, which must be able to enter this folder.
  await chmod(folder, 0o711);
  return folder;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
