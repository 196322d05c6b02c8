import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { needsRoot, newDirectory, query, recorder, runProgram, start, until } from "../../../test/harness/embedded.ts";
import { canEnter } from "./account.ts";
import { openEmbedded, socketOptions, startEmbedded } from "./embedded.ts";
import { locateCluster, readFacts, replaceFile } from "./location.ts";
import { processStart } from "./process.ts";

describe("the location of the cluster", () => {
  it("can be a data directory with a long name and special characters", async (t) => {
    const dataDir = join(await newDirectory(t), `it's a "näme", ${"long".repeat(30)}`, "data");
    const server = await start(t, { dataDir });
    const socketDir = dirname(socketOptions(server.url).path!);
    t.after(() => rm(socketDir, { recursive: true }));
    assert.equal((await query(server.url, (sql) => sql`select 1`)).length, 1);
    assert.equal((await stat(socketDir)).mode & 0o777, 0o700);
  });

  it("is refused when another account can enter its socket directory in /tmp", async (t) => {
    const dataDir = join(await newDirectory(t), "long".repeat(30));
    const { socketDir } = await locateCluster(dataDir);
    t.after(() => rm(socketDir, { recursive: true }));
    await chmod(socketDir, 0o777);
    await assert.rejects(locateCluster(dataDir), { code: "permission", message: /belongs to another account/ });
  });

  it("is refused when the data directory is a file", async (t) => {
    const dataDir = join(await newDirectory(t), "file");
    await writeFile(dataDir, "");
    const refused = startEmbedded({ dataDir, log: recorder() });
    await assert.rejects(refused, { code: "permission", message: /POSTHORN_DATA_DIR/ });
  });

  it("is inside root's 0700 data directory, which the server's group may then enter", {
    skip: needsRoot,
  }, async (t) => {
    const dataDir = join(await newDirectory(t), "data");
    await mkdir(dataDir, { mode: 0o700 });
    const location = await locateCluster(dataDir);
    assert.equal(location.baseDir, dataDir);
    const { mode, uid, gid } = await stat(dataDir);
    assert.deepEqual({ mode: mode & 0o777, uid, gid }, { mode: 0o710, uid: 0, gid: location.runAs!.gid });
  });

  it("is inside root's data directory also below a 0700 directory, where every operation works", {
    skip: needsRoot,
  }, async (t) => {
    const dataDir = await closedPlace(t);
    const first = await start(t, { dataDir });
    assert.equal((await readFacts(dataDir))!.home, undefined);
    assert.equal((await stat(`/proc/${first.pid()}`)).uid, (await locateCluster(dataDir)).runAs!.uid);
    await query(first.url, (sql) => sql`create table kept as select 1 as value`);
    const killed = first.pid()!;
    process.kill(killed, "SIGKILL");
    await until(() => first.pid() !== undefined && first.pid() !== killed, "the server is back");
    await assertKept(first.url);
    await first.stop();

    const program = runProgram(t, dataDir);
    const { serverPid } = await program.ready;
    const command = await openEmbedded({ dataDir, log: recorder() });
    assert.equal(command.owned, false);
    await assertKept(command.url);
    program.child.kill("SIGKILL");
    await until(() => processStart(serverPid) === undefined, "the guard has stopped the server");

    await rm(join(dataDir, "postgres.json"));
    const second = await start(t, { dataDir });
    await assertKept(second.url);
    await second.stop();

    // The same cluster works when other accounts can enter the parent directory, and when they no longer can.
    for (const mode of [0o755, 0o700]) {
      await chmod(dirname(dataDir), mode);
      const later = await start(t, { dataDir });
      await assertKept(later.url);
      await later.stop();
    }
  });

  it("is refused when the mode of root's data directory does not let the server in", { skip: needsRoot }, async (t) => {
    const dataDir = join(await newDirectory(t), "data");
    await mkdir(dataDir);
    await chmod(dataDir, 0o750);
    await assert.rejects(locateCluster(dataDir), { code: "permission", message: /chmod o\+x \S+data$/ });
  });

  it("belongs to the ordinary user who starts it, also after a command by root", { skip: needsRoot }, async (t) => {
    const other = { uid: 65534, gid: 65534 };
    if (!(await canEnter(dirname(process.execPath), other)))
      return t.skip("this checkout is in a directory that only root may enter");
    const place = await newDirectory(t);
    await chmod(place, 0o777);
    const dataDir = join(place, "data");
    const program = runProgram(t, dataDir, other);
    const { serverPid } = await program.ready;
    assert.equal((await stat(`/proc/${serverPid}`)).uid, 65534);
    program.child.kill("SIGTERM");
    await once(program.child, "exit");
    const command = await openEmbedded({ dataDir, log: recorder() });
    assert.equal((await stat(`/proc/${command.pid()}`)).uid, 65534);
    await command.stop();
    for (const name of await readdir(dataDir)) assert.equal((await stat(join(dataDir, name))).uid, 65534, name);
  });
});

/** A data directory whose parent only root can enter. */
async function closedPlace(t: TestContext): Promise<string> {
  const place = await newDirectory(t);
  await chmod(place, 0o700);
  return join(place, "data");
}

async function assertKept(url: string): Promise<void> {
  assert.equal((await query(url, (sql) => sql`select value from kept`)).length, 1);
}

describe("replaceFile", () => {
  it("replaces a link instead of writing through it, with the given mode", async (t) => {
    const place = await newDirectory(t);
    await writeFile(join(place, "precious"), "untouched");
    await symlink("precious", join(place, "settings"));
    await replaceFile(join(place, "settings"), "new", 0o644);
    assert.equal(await readFile(join(place, "precious"), "utf8"), "untouched");
    assert.equal((await lstat(join(place, "settings"))).mode & 0o777, 0o644);
    assert.deepEqual((await readdir(place)).sort(), ["precious", "settings"]);
  });
});
