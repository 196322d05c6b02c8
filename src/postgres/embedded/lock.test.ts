import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { newDirectory } from "../../../test/harness/embedded.ts";
import { until } from "../../../test/harness/wait.ts";
import { type Lock, type LockHolder, lockHolder, takeLock } from "./lock.ts";
import { machineId, processStart } from "./process.ts";

describe("the lock of a data directory", () => {
  it("has one holder at a time, which other callers get", async (t) => {
    const request = await newRequest(t);
    const lock = await take(request);
    assert.deepEqual(await takeLock(request), { holder: await lockHolder(request) });
    assert.equal((await lockHolder(request))?.pid, process.pid);
    await lock.release();
    assert.equal(await lockHolder(request), undefined);
    await (await take(request)).release();
    assert.deepEqual(await readdir(request.baseDir), []);
  });

  it("is given to exactly one of many callers that find a dead holder", async (t) => {
    const request = await newRequest(t);
    for (let round = 0; round < 20; round++) {
      await leaveBehind(request, { start: "1" });
      const results = await Promise.all(Array.from({ length: 8 }, () => takeLock(request)));
      const winners = results.filter((result) => "release" in result);
      assert.equal(winners.length, 1);
      await winners[0]!.release();
    }
  });

  it("is free when the holder's pid belongs to another process", async (t) => {
    const request = await newRequest(t);
    await leaveBehind(request, { start: "1" });
    await (await take(request)).release();
  });

  it("is free when the holder is a zombie", { skip: process.platform !== "linux" }, async (t) => {
    const request = await newRequest(t);
    // The shell never waits for its child, so the child stays in the process table after its end.
    const parent = spawn("/bin/sh", ["-c", 'sleep 600 & echo "$!"; exec sleep 601']);
    t.after(() => parent.kill("SIGKILL"));
    const [line] = await once(parent.stdout, "data");
    const pid = Number(line);
    const start = processStart(pid)!;
    await leaveBehind(request, { pid, start });
    assert.equal((await lockHolder(request))?.pid, pid);
    process.kill(pid, "SIGKILL");
    await until("the process to be a zombie", () => / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8")));
    const taken = await take(request);
    assert.ok((await stat(`/proc/${pid}`)).isDirectory(), "still in the process table");
    await taken.release();
  });

  it("is free after a restart of the machine and when its file is incomplete", async (t) => {
    const request = await newRequest(t);
    await leaveBehind(request, { boot: "another" });
    await (await take(request)).release();
    await writeFile(join(request.baseDir, "postgres.lock.9"), '{"pid":');
    await (await take(request)).release();
  });

  it("belongs to a program in another container while its server answers or its heartbeat continues", async (t) => {
    const request = await newRequest(t);
    const path = await leaveBehind(request, { pidNamespace: "pid:[1]" });
    await utimes(path, 0, 0);
    const server = createServer().listen(request.socket);
    await once(server, "listening");
    assert.ok("holder" in (await takeLock(request)), "its server answers");
    server.close();
    await once(server, "close");
    let beats = 0;
    const beat = setInterval(() => void utimes(path, 0, Date.now() / 1000 + ++beats), 20);
    t.after(() => clearInterval(beat));
    await utimes(path, new Date(), new Date());
    assert.ok("holder" in (await takeLock(request)), "its heartbeat continues");
    clearInterval(beat);
    await utimes(path, 0, 0);
    await (await take(request)).release();
  });

  it("belongs to a program in another container whose heartbeat continues after the clock stepped ahead", async (t) => {
    const request = await newRequest(t);
    const path = await leaveBehind(request, { pidNamespace: "pid:[1]" });
    let beats = 0;
    const beat = setInterval(() => utimes(path, 0, ++beats).catch(() => {}), 20);
    try {
      await until("a beat", () => beats > 0);
      assert.ok("holder" in (await takeLock(request)));
    } finally {
      clearInterval(beat);
    }
  });

  it("is free after the end of a program in another container, also when the clock stepped back since", {
    timeout: 60_000,
  }, async (t) => {
    const request = await newRequest(t);
    const path = await leaveBehind(request, { pidNamespace: "pid:[1]" });
    const tomorrow = new Date(Date.now() + 86_400_000);
    await utimes(path, tomorrow, tomorrow);
    await (await take(request)).release();
  });
});

describe("the lock in a copied data directory", () => {
  const copyOf = async (request: Request, t: TestContext) => {
    const copy = await newRequest(t);
    for (const name of await readdir(request.baseDir))
      await copyFile(join(request.baseDir, name), join(copy.baseDir, name));
    return copy;
  };

  it("is recognized as a copy while its holder runs on the original", async (t) => {
    const request = await newRequest(t);
    const lock = await take(request);
    const copy = await copyOf(request, t);
    const taken = await takeLock(copy);
    assert.ok("copied" in taken);
    assert.deepEqual([taken.copied.dataDir, taken.path], [request.dataDir, join(copy.baseDir, "postgres.lock.1")]);
    assert.equal(await lockHolder(copy), undefined, "a command does not join the original's server");
    await lock.release();
  });

  it("is recognized as a copy also after the original was killed, until the operator removes it", async (t) => {
    const request = await newRequest(t);
    await leaveBehind(request, { start: "1" });
    const copy = await copyOf(request, t);
    const taken = await takeLock(copy);
    assert.ok("copied" in taken);
    await rm(taken.path);
    await (await take(copy)).release();
  });

  it("is recognized as a copy at the same path on another machine", {
    skip: machineId() === "" && "this machine has no /etc/machine-id",
  }, async (t) => {
    const killed = { boot: "another", start: "1" };
    const request = await newRequest(t);
    await leaveBehind(request, { ...killed, machine: "another", file: "1:1" });
    const taken = await takeLock(request);
    assert.ok("copied" in taken);
    await rm(taken.path);
    const free: Partial<LockHolder>[] = [
      // A volume that moved to another machine, a power loss, a machine without an id.
      { machine: "another" },
      { file: "1:1" },
      { machine: "", file: "1:1" },
      { machine: undefined, file: "1:1" },
    ];
    for (const change of free) {
      await leaveBehind(request, { ...killed, ...change });
      await (await take(request)).release();
    }
  });

  it("stays with its holder when the directory is moved", async (t) => {
    const request = await newRequest(t);
    const lock = await take(request);
    const moved = { ...request, baseDir: join(await newDirectory(t), "moved") };
    await rename(request.baseDir, moved.baseDir);
    assert.ok("holder" in (await takeLock({ ...moved, dataDir: moved.baseDir })));
    await mkdir(request.baseDir);
    await copyFile(join(moved.baseDir, "postgres.lock.1"), join(request.baseDir, "postgres.lock.1"));
    await lock.release();
    assert.deepEqual(
      await readdir(request.baseDir),
      ["postgres.lock.1"],
      "a copy in the old place keeps its lock file",
    );
  });

  it("of an older release, which does not identify its file, counts as held", async (t) => {
    const request = await newRequest(t);
    await leaveBehind(request, { file: undefined });
    assert.equal((await lockHolder(request))?.pid, process.pid);
  });
});

type Request = Parameters<typeof takeLock>[0];

async function newRequest(t: TestContext): Promise<Request> {
  const baseDir = await newDirectory(t);
  return { baseDir, dataDir: baseDir, role: "program", socket: join(baseDir, "socket") };
}

async function take(request: Request): Promise<Lock> {
  const taken = await takeLock(request);
  assert.ok("release" in taken, "the lock is free");
  return taken;
}

/** Writes a lock file as a killed program leaves it: our own, with some fields changed. */
async function leaveBehind(request: Request, change: Partial<LockHolder>): Promise<string> {
  const lock = await take(request);
  const [name] = await readdir(request.baseDir);
  const ours = JSON.parse(await readFile(join(request.baseDir, name!), "utf8")) as LockHolder;
  await lock.release();
  const path = join(request.baseDir, "postgres.lock.5");
  await writeFile(path, "");
  const { dev, ino } = await stat(path);
  await writeFile(path, JSON.stringify({ ...ours, file: `${dev}:${ino}`, ...change }));
  return path;
}
