import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, cp, mkdir, readdir, rename, rm, stat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { openEmbedded, startEmbedded } from "./embedded.ts";
import { findHome, olderHome, readFacts, rootPlace, writeFacts } from "./embedded-home.ts";
import { takeLock } from "./embedded-lock.ts";
import { isRoot, needsRoot, newPlace, query, recorder, start } from "./embedded-testing.ts";

/** One cluster for all tests, each of which has a copy of it. */
let template = "";
const cleanUp: (() => Promise<void>)[] = [];
before(async () => {
  if (!isRoot) return;
  // A hook that is added inside another one would run after the first test.
  template = join(await newPlace({ after: (work) => cleanUp.push(work) }), "data");
  const server = await startEmbedded({ dataDir: template, log: recorder() });
  await query(server.url, (sql) => sql`create table kept as select 1 as value`);
  await server.stop();
});
after(async () => {
  for (const work of cleanUp) await work();
});

describe("a cluster that an older release put under /var/lib/posthorn", { skip: needsRoot }, () => {
  it("is brought into the data directory by the next start", async (t) => {
    const { dataDir, home } = await olderInstance(t);
    const log = recorder();
    const server = await start(t, { dataDir, log });
    await assertKept(server.url);
    assert.ok(log.lines.some((line) => line.includes("moved the database into the data directory")));
    assert.equal((await readFacts(dataDir))!.home, undefined);
    assert.ok(existsSync(join(dataDir, "postgres")));
    assert.deepEqual(await readdir(home), []);
    await server.stop();
  });

  it("is found when a start was killed between moving it and noting so", async (t) => {
    const { dataDir, home } = await olderInstance(t);
    await rename(join(home, "postgres"), join(dataDir, "postgres"));
    const server = await openEmbedded({ dataDir, log: recorder() });
    await assertKept(server.url);
    await server.stop();
    assert.equal((await readFacts(dataDir))!.home, undefined);
  });

  it("stays while a program of the older release runs on it", async (t) => {
    const { dataDir, home } = await olderInstance(t);
    const { socketDir } = await findHome(dataDir);
    const lock = await takeLock({ home, dataDir, role: "program", socket: join(socketDir, ".s.PGSQL.5432") });
    assert.ok("release" in lock);
    await assert.rejects(startEmbedded({ dataDir, log: recorder() }), { code: "locked" });
    assert.ok(existsSync(join(home, "postgres")));
    await lock.release();
  });

  it("goes on where it is when it cannot be moved, with a warning that names the right way to copy it", async (t) => {
    const { dataDir, home } = await olderInstance(t);
    // In the way, as another file system would be.
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
    assert.equal((await readFacts(dataDir))!.home, home);
    await rm(join(dataDir, "postgres"), { recursive: true });
    await promisify(execFile)("/bin/sh", ["-c", command]);
    await assertKept((await start(t, { dataDir })).url);
    assert.equal((await readFacts(dataDir))!.home, undefined);
  });

  it("stays on another file system, and the command of the warning brings it inside", async (t) => {
    const memory = "/dev/shm";
    const devices = await Promise.all([memory, dirname(rootPlace)].map((path) => stat(path).catch(() => undefined)));
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

  it("is not forgotten for the part of it that an interrupted mv left in the data directory", async (t) => {
    const { dataDir, home } = await olderInstance(t);
    const [inside, outside] = [join(dataDir, "postgres"), join(home, "postgres")];
    await mkdir(inside);
    await cp(join(outside, "PG_VERSION"), join(inside, "PG_VERSION"));
    for (const open of [startEmbedded, openEmbedded])
      await assert.rejects(open({ dataDir, log: recorder() }), {
        code: "failed",
        message: new RegExp(
          `two databases: ${inside}, and ${outside}.* diff -rq ${inside} ${outside}\\. .* start again`,
        ),
      });
    assert.equal((await readFacts(dataDir))!.home, home);
    await rm(inside, { recursive: true });
    await assertKept((await start(t, { dataDir })).url);
  });

  it("is never opened through a copy of the data directory", async (t) => {
    const { dataDir, home } = await olderInstance(t);
    const copy = join(dirname(dataDir), "copy");
    await cp(dataDir, copy, { recursive: true });
    for (const open of [startEmbedded, openEmbedded])
      await assert.rejects(open({ dataDir: copy, log: recorder() }), {
        code: "copied",
        message: /copied or moved .* mv \S+ \S+copy\/postgres && .* posthorn backup/,
      });
    await assertKept((await start(t, { dataDir })).url);
    assert.ok(!existsSync(join(home, "postgres")));
    await assert.rejects(startEmbedded({ dataDir: copy, log: recorder() }), {
      code: "copied",
      message: /holds no database: run posthorn backup/,
    });
  });

  it("follows a moved data directory as the refusal says", async (t) => {
    const { dataDir, home } = await olderInstance(t);
    const moved = join(dirname(dataDir), "moved");
    await rename(dataDir, moved);
    await assert.rejects(startEmbedded({ dataDir: moved, log: recorder() }), { code: "copied" });
    await rename(join(home, "postgres"), join(moved, "postgres"));
    await assertKept((await start(t, { dataDir: moved })).url);
  });

  it("is missed by name when it is gone", async (t) => {
    const { dataDir, home } = await olderInstance(t);
    await rm(home, { recursive: true });
    for (const open of [startEmbedded, openEmbedded])
      await assert.rejects(open({ dataDir, log: recorder() }), {
        code: "failed",
        message: /is not there\. Put it back, or restore a backup .* remove \S+postgres\.json\.$/,
      });
  });

  it("is the same through a link to the data directory", async (t) => {
    const { dataDir } = await olderInstance(t);
    const link = join(dirname(dataDir), "link");
    await symlink(dataDir, link);
    await assertKept((await start(t, { dataDir: link })).url);
  });
});

/** As an older release left it: below a closed home, with the cluster in a place of its own. On the file system of that place, because a
 * cluster is moved by a rename; the directory for temporary files is often another one. */
async function olderInstance(t: TestContext, parent = dirname(rootPlace)): Promise<{ dataDir: string; home: string }> {
  const place = await newPlace(t, parent);
  await chmod(place, 0o700);
  const dataDir = join(place, "data");
  await promisify(execFile)("cp", ["-a", template, dataDir]);
  const home = olderHome(dataDir);
  await mkdir(home, { recursive: true });
  t.after(() => rm(home, { recursive: true, force: true }));
  const { gid } = await stat(join(dataDir, "postgres"));
  await chown(home, 0, gid);
  await chmod(home, 0o710);
  for (const name of ["postgres", "postgres.conf"]) await promisify(execFile)("mv", [join(dataDir, name), home]);
  const facts = (await readFacts(dataDir))!;
  await writeFacts(dataDir, { ...facts, url: facts.url.replace(/@[^/]+/, `@${encodeURIComponent(home)}`), home });
  return { dataDir, home };
}

async function assertKept(url: string): Promise<void> {
  assert.equal((await query(url, (sql) => sql`select value from kept`)).length, 1);
}
