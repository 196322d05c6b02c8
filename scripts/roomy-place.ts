/** Where the test run's PostgreSQL lies: in memory where there is plenty. It makes and drops a database for nearly every test, and ext4
 * without a journal searches past every file that was deleted in the last half minute before it makes a new one. */
import { chmod, mkdtemp, readdir, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const inMemory = "/dev/shm";
/** Ten times what a run was seen to take. */
const plenty = 8 * 2 ** 30;
const prefix = "posthorn-tests-";

/** A folder for this process. Removes what a killed run left in memory. */
export async function roomyPlace(memory = inMemory, needed = plenty): Promise<string> {
  const room = await statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  if (process.platform !== "linux" || Math.min(room, process.availableMemory()) < needed) return tmpdir();
  try {
    return await placeIn(memory);
  } catch {
    // In some containers and chroots only root may write to /dev/shm.
    return tmpdir();
  }
}

async function placeIn(memory: string): Promise<string> {
  for (const name of await readdir(memory)) {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : undefined;
    // A folder of another account stays.
    if (pid && !isAlive(pid)) await rm(join(memory, name), { recursive: true, force: true }).catch(() => {});
  }
  const place = await mkdtemp(join(memory, `${prefix}${process.pid}-`));
  // PostgreSQL refuses to run as root: root's server has another account, which must reach its own folder in here.
  await chmod(place, 0o711);
  return place;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
