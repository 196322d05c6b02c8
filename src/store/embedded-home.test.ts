import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { openEmbedded, socketOptions, startEmbedded } from "./embedded.ts";
import { canEnter } from "./embedded-account.ts";
import { findHome, readFacts, replaceFile } from "./embedded-home.ts";
import { processStart } from "./embedded-process.ts";
import { needsRoot, newPlace, query, recorder, runProgram, start, until } from "./embedded-testing.ts";

describe("the place of the cluster", () => {
  it("may be a data directory with a long and odd name", async (t) => {
    const dataDir = join(await newPlace(t), `it's a "näme", ${"long".repeat(30)}`, "data");
    const server = await start(t, { dataDir });
    const socketDir = dirname(socketOptions(server.url).path!);
    t.after(() => rm(socketDir, { recursive: true }));
    assert.equal((await query(server.url, (sql) => sql`select 1`)).length, 1);
    assert.equal((await stat(socketDir)).mode & 0o777, 0o700);
  });

  it("is never a short socket directory that another account may enter", async (t) => {
    const dataDir = join(await newPlace(t), "long".repeat(30));
    const { socketDir } = await findHome(dataDir);
    t.after(() => rm(socketDir, { recursive: true }));
    await chmod(socketDir, 0o777);
    await assert.rejects(findHome(dataDir), { code: "permission", message: /belongs to another account/ });
  });

  it("is named when it is a file", async (t) => {
    const dataDir = join(await newPlace(t), "file");
    await writeFile(dataDir, "");
    const refused = startEmbedded({ dataDir, log: recorder() });
    await assert.rejects(refused, { code: "permission", message: /POSTHORN_DATA_DIR/ });
  });

  it("is inside root's own 0700 data directory, which lets the server's group pass", { skip: needsRoot }, async (t) => {
    const dataDir = join(await newPlace(t), "data");
    await mkdir(dataDir, { mode: 0o700 });
    const home = await findHome(dataDir);
    assert.equal(home.home, dataDir);
    const { mode, uid, gid } = await stat(dataDir);
    assert.deepEqual({ mode: mode & 0o777, uid, gid }, { mode: 0o710, uid: 0, gid: home.runAs!.gid });
  });

  it("is inside root's data directory below a 0700 home too, with all that a server does", {
    skip: needsRoot,
  }, async (t) => {
    const dataDir = await closedPlace(t);
    const first = await start(t, { dataDir });
    assert.equal((await readFacts(dataDir))!.home, undefined);
    assert.equal((await stat(`/proc/${first.pid()}`)).uid, (await findHome(dataDir)).runAs!.uid);
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

    // The same cluster serves when the home is opened, and when it is closed again.
    for (const mode of [0o755, 0o700]) {
      await chmod(dirname(dataDir), mode);
      const later = await start(t, { dataDir });
      await assertKept(later.url);
      await later.stop();
    }
  });

  it("is refused when the mode of root's data directory keeps the server out", { skip: needsRoot }, async (t) => {
    const dataDir = join(await newPlace(t), "data");
    await mkdir(dataDir);
    await chmod(dataDir, 0o750);
    await assert.rejects(findHome(dataDir), { code: "permission", message: /chmod o\+x \S+data$/ });
  });

  it("belongs to the ordinary user who starts it, also after root has helped out", { skip: needsRoot }, async (t) => {
    const other = { uid: 65534, gid: 65534 };
    if (!(await canEnter(dirname(process.execPath), other)))
      return t.skip("this checkout is in a directory that only root may enter");
    const place = await newPlace(t);
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

/** A data directory whose parent only root may enter. */
async function closedPlace(t: TestContext): Promise<string> {
  const place = await newPlace(t);
  await chmod(place, 0o700);
  return join(place, "data");
}

async function assertKept(url: string): Promise<void> {
  assert.equal((await query(url, (sql) => sql`select value from kept`)).length, 1);
}

describe("replaceFile", () => {
  it("replaces a link instead of writing through it, with the mode it was given", async (t) => {
    const place = await newPlace(t);
    await writeFile(join(place, "precious"), "untouched");
    await symlink("precious", join(place, "settings"));
    await replaceFile(join(place, "settings"), "new", 0o644);
    assert.equal(await readFile(join(place, "precious"), "utf8"), "untouched");
    assert.equal((await lstat(join(place, "settings"))).mode & 0o777, 0o644);
    assert.deepEqual((await readdir(place)).sort(), ["precious", "settings"]);
  });
});
