/** Moves a cluster home that an older release put under /var/lib/posthorn, because root's data directory was closed to PostgreSQL's account. Called by embedded.ts. */
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { canEnter } from "./embedded-account.ts";
import { type Home, holdsCluster, letPass, moveByHand, syncPath } from "./embedded-home.ts";
import type { EmbeddedLog } from "./embedded-log.ts";
import { stopLeftover } from "./embedded-server.ts";
import { canInherit } from "./embedded-spawn.ts";

/**
 * Under the lock of the old place: true when the cluster is in the data directory now. A rename within one file system moves it
 * whole or not at all; onto another file system it would be a copy of unknown size, which is left to the operator.
 */
export async function bringHome(home: Home, log: EmbeddedLog): Promise<boolean> {
  const { dataDir } = home;
  if (holdsCluster(dataDir)) return true;
  await stopLeftover(home);
  try {
    if (home.runAs !== undefined) await letPass(dataDir, home.runAs);
    if (home.runAs !== undefined && !canInherit() && !(await canEnter(dataDir, home.runAs)))
      return stays(home, log, `PostgreSQL's account cannot enter ${dataDir}`);
    await rename(home.cluster, join(dataDir, "postgres"));
  } catch (error) {
    return stays(home, log, (error as Error).message);
  }
  await syncPath(dataDir);
  await syncPath(home.home);
  await rm(join(home.home, "postgres.conf"), { force: true });
  log.info({ from: home.home, to: dataDir }, "moved the database into the data directory");
  return true;
}

function stays({ home, dataDir }: Home, log: EmbeddedLog, reason: string): false {
  const message = `the database is in ${home}, outside the data directory: cp -a does not copy it, posthorn backup does. It could not be moved: ${reason}. To bring it inside, stop Posthorn and run: ${moveByHand(dataDir, home)}`;
  log.warn({ home, dataDir }, message);
  return false;
}
