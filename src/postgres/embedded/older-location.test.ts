import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, cp, mkdir, readdir, rename, rm, stat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { isRoot, needsRoot, newDirectory, query, recorder, start } from "../../../test/harness/embedded.ts";
import { openEmbedded, startEmbedded } from "./embedded.ts";
import { locateCluster, olderBaseDir, readFacts, systemDir, writeFacts } from "./location.ts";
import { takeLock } from "./lock.ts";

/** One cluster for all tests; each test gets a copy. */
let template = "";
const cleanUp: (() => Promise<void>)[] = [];
before(async () => {
  if (!isRoot) return;
  // A hook added inside another hook would run after the first test.
  template = join(await newDirectory({ after: (work) => cleanUp.push(work) }), "data");
  const server = await startEmbedded({ dataDir: template, log: recorder() });
  await query(server.url, (sql) => sql`create table kept as select 1 as value`);
  await server.stop();
});
after(async () => {
  for (const work of cleanUp) await work();
});

describe("a cluster that an older release put under /var/lib/posthorn", { skip: needsRoot }, () => {
  it("is moved into the data directory by the next start", async (t) => {
    const { dataDir, baseDir } = await olderInstance(t);
    const log = recorder();
    const server = await start(t, { dataDir, log });
    await assertKept(server.url);
    assert.ok(log.lines.some((line) => line.includes("moved the database into the data directory")));
    assert.equal((await readFacts(dataDir))!.home, undefined);
    assert.ok(existsSync(join(dataDir, "postgres")));
    assert.deepEqual(await readdir(baseDir), []);
    await server.stop();
  });

  it("is found when a start was killed after the move and before it wrote postgres.json", async (t) => {
    const { dataDir, baseDir } = await olderInstance(t);
    await rename(join(baseDir, "postgres"), join(dataDir, "postgres"));
    const server = await openEmbedded({ dataDir, log: recorder() });
    await assertKept(server.url);
    await server.stop();
    assert.equal((await readFacts(dataDir))!.home, undefined);
  });

  it("stays while a program of the older release runs on it", async (t) => {
    const { dataDir, baseDir } = await olderInstance(t);
    const { socketDir } = await locateCluster(dataDir);
    const lock = await takeLock({ baseDir, dataDir, role: "program", socket: join(socketDir, ".s.PGSQL.5432") });
    assert.ok("release" in lock);
    await assert.rejects(startEmbedded({ dataDir, log: recorder() }), { code: "locked" });
    assert.ok(existsSync(join(baseDir, "postgres")));
    await lock.release();
  });

  it("is used in its old directory when it cannot be moved, with a warning that has the commands", async (t) => {
    const { dataDir, baseDir } = await olderInstance(t);
    // A folder that prevents the rename, as another file system would.
    await mkdir(join(dataDir, "postgres", "notes"), { recursive: true });
    let command = "";
    for (let round = 0; round < 2; round++) {
      const log = recorder();
      const server = await start(t, { dataDir, log });
      await assertKept(server.url);
      const warned = log.lines.filter((line) => line.startsWith("warn"));
      assert.match(
        warned.join("\n"),
        /cp -a does not copy it, posthorn backup does\. It could not be moved: ENOTEMPTY/,
      );
      command = /move \S+data\/postgres away and run: (cp -a .*) \{/.exec(warned.join("\n"))![1]!;
      await server.stop();
    }
    assert.equal((await readFacts(dataDir))!.home, baseDir);
    await rm(join(dataDir, "postgres"), { recursive: true });
    await promisify(execFile)("/bin/sh", ["-c", command]);
    await assertKept((await start(t, { dataDir })).url);
    assert.equal((await readFacts(dataDir))!.home, undefined);
  });

  it("stays on another file system, and the command of the warning brings it inside", async (t) => {
    const memory = "/dev/shm";
    const devices = await Promise.all([memory, dirname(systemDir)].map((path) => stat(path).catch(() => undefined)));
    if (!devices[0] || devices[0].dev === devices[1]?.dev) return t.skip("there is no second file system at /dev/shm");
    const { dataDir } = await olderInstance(t, memory);
    const log = recorder();
    const server = await start(t, { dataDir, log });
    await assertKept(server.url);
    const warning = log.lines.find((line) => line.includes("It could not be moved: EXDEV"));
    const command = /stop Posthorn and run: (.*?) \{/.exec(warning ?? "")?.[1] ?? assert.fail(log.lines.join("\n"));
    await server.stop();
    await promisify(execFile)("/bin/sh", ["-c", command]);
    await assertKept((await start(t, { dataDir })).url);
    assert.equal((await readFacts(dataDir))!.home, undefined);
  });

  it("is not ignored when an interrupted mv left an incomplete cluster in the data directory", async (t) => {
    const { dataDir, baseDir } = await olderInstance(t);
    const [inside, outside] = [join(dataDir, "postgres"), join(baseDir, "postgres")];
    await mkdir(inside);
    await cp(join(outside, "PG_VERSION"), join(inside, "PG_VERSION"));
    for (const open of [startEmbedded, openEmbedded])
      await assert.rejects(open({ dataDir, log: recorder() }), {
        code: "failed",
        message: new RegExp(
          `two databases: ${inside}, and ${outside}.* diff -rq ${inside} ${outside}\\. .* start again`,
        ),
      });
    assert.equal((await readFacts(dataDir))!.home, baseDir);
    await rm(inside, { recursive: true });
    await assertKept((await start(t, { dataDir })).url);
  });

  it("is never opened through a copy of the data directory", async (t) => {
    const { dataDir, baseDir } = await olderInstance(t);
    const copy = join(dirname(dataDir), "copy");
    await cp(dataDir, copy, { recursive: true });
    for (const open of [startEmbedded, openEmbedded])
      await assert.rejects(open({ dataDir: copy, log: recorder() }), {
        code: "copied",
        message: /copied or moved .* mv \S+ \S+copy\/postgres && .* posthorn backup/,
      });
    await assertKept((await start(t, { dataDir })).url);
    assert.ok(!existsSync(join(baseDir, "postgres")));
    await assert.rejects(startEmbedded({ dataDir: copy, log: recorder() }), {
      code: "copied",
      message: /has no database: run posthorn backup/,
    });
  });

  it("can be moved after its data directory, as the error message describes", async (t) => {
    const { dataDir, baseDir } = await olderInstance(t);
    const moved = join(dirname(dataDir), "moved");
    await rename(dataDir, moved);
    await assert.rejects(startEmbedded({ dataDir: moved, log: recorder() }), { code: "copied" });
    await rename(join(baseDir, "postgres"), join(moved, "postgres"));
    await assertKept((await start(t, { dataDir: moved })).url);
  });

  it("is named in the error when it is missing", async (t) => {
    const { dataDir, baseDir } = await olderInstance(t);
    await rm(baseDir, { recursive: true });
    for (const open of [startEmbedded, openEmbedded])
      await assert.rejects(open({ dataDir, log: recorder() }), {
        code: "failed",
        message: /is not there\. Put it back, or restore a backup .* remove \S+postgres\.json\.$/,
      });
  });

  it("is found through a link to the data directory", async (t) => {
    const { dataDir } = await olderInstance(t);
    const link = join(dirname(dataDir), "link");
    await symlink(dataDir, link);
    await assertKept((await start(t, { dataDir: link })).url);
  });
});

/** An instance as an older release left it: the data directory is below a directory that only root can enter, and the cluster is under
 * `systemDir`. `parent` is on the file system of `systemDir` by default, because a rename moves the cluster only within one file system;
 * the directory for temporary files is often on another one. */
async function olderInstance(
  t: TestContext,
  parent = dirname(systemDir),
): Promise<{ dataDir: string; baseDir: string }> {
  const place = await newDirectory(t, parent);
  await chmod(place, 0o700);
  const dataDir = join(place, "data");
  await promisify(execFile)("cp", ["-a", template, dataDir]);
  const baseDir = olderBaseDir(dataDir);
  await mkdir(baseDir, { recursive: true });
  t.after(() => rm(baseDir, { recursive: true, force: true }));
  const { gid } = await stat(join(dataDir, "postgres"));
  await chown(baseDir, 0, gid);
  await chmod(baseDir, 0o710);
  for (const name of ["postgres", "postgres.conf"]) await promisify(execFile)("mv", [join(dataDir, name), baseDir]);
  const facts = (await readFacts(dataDir))!;
  await writeFacts(dataDir, {
    ...facts,
    url: facts.url.replace(/@[^/]+/, `@${encodeURIComponent(baseDir)}`),
    home: baseDir,
  });
  return { dataDir, baseDir };
}

async function assertKept(url: string): Promise<void> {
  assert.equal((await query(url, (sql) => sql`select value from kept`)).length, 1);
}
