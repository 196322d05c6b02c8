/** A PostgreSQL server behind a proxy, whose standby lags behind: after a failover the newest transactions are lost. The standby is a copy
 * of the running server that recovers and opens a new timeline, as a promoted one does. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databaseFolder } from "../../scripts/database-folder.ts";
import { silentLog } from "../../src/ops/log.ts";
import { copyEmbedded, restoreEmbedded } from "../../src/postgres/embedded/backup.ts";
import { type Embedded, startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { serverSettings, startTestServer, type TestServer } from "./database.ts";
import { startDatabaseProxy } from "./database-proxy.ts";

export type FailoverServer = {
  /** For a testbed: all its connections go through the proxy. */
  server: TestServer;
  /** What the standby has received so far. Nothing after it is replicated. */
  replicate(): Promise<void>;
  /** The primary dies and the standby takes over. */
  failOver(): Promise<void>;
  /** The same, but the standby does not open a new timeline: a restored copy of the disk. */
  restoreDisk(): Promise<void>;
  /** The primary dies, and connections reach a standby that was not promoted. */
  startStandby(): Promise<void>;
  stop(): Promise<void>;
};

const neededBytes = 2 * 2 ** 30;

export async function startFailoverServer(): Promise<FailoverServer> {
  // In memory, because copies of a cluster are flushed file by file.
  const parent = await databaseFolder("/dev/shm", neededBytes);
  const directory = await mkdtemp(join(parent, "posthorn-failover-"));
  await chmod(directory, 0o711);
  const first = await startTestServer(directory);
  const proxy = await startDatabaseProxy(first.url);
  let primary: { dataDir: string; stop(): Promise<void> } = first;
  let copies = 0;
  let copy: { folder: string; password: string } | undefined;

  async function replicate(): Promise<void> {
    const folder = await mkdtemp(join(directory, "copy-"));
    const { password } = await copyEmbedded({ dataDir: primary.dataDir, log: silentLog(), to: folder });
    copy = { folder, password };
  }

  /** `signal` is the file that tells PostgreSQL how to start: to end its recovery on a new timeline, or to stay a standby. */
  async function takeOver(signal?: "recovery.signal" | "standby.signal"): Promise<void> {
    if (!copy) throw new Error("call replicate first");
    proxy.goAway();
    await primary.stop();
    const dataDir = join(directory, `server-${++copies}`);
    await restoreEmbedded({ dataDir, from: copy.folder, password: copy.password, restoreOtherFiles: async () => {} });
    if (signal) await writeFile(join(dataDir, "postgres", signal), "");
    const settings = signal ? [...serverSettings, "restore_command=false"] : serverSettings;
    const next: Embedded = await startEmbedded({ dataDir, log: silentLog(), settings });
    primary = { dataDir, stop: next.stop };
    proxy.retarget(next.url);
    proxy.comeBack();
  }

  return {
    server: { ...first, url: proxy.url, pid: () => undefined },
    replicate,
    failOver: () => takeOver("recovery.signal"),
    restoreDisk: () => takeOver(),
    startStandby: () => takeOver("standby.signal"),
    async stop() {
      await proxy.close();
      await primary.stop();
      await first.stop();
      await rm(directory, { recursive: true, force: true });
      if (parent !== tmpdir()) await rm(parent, { recursive: true, force: true });
    },
  };
}
