import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { isRoot, newDirectory, query, recorder, runProgram, start, until } from "../../../test/harness/embedded.ts";
import { type EmbeddedError, openEmbedded, startEmbedded } from "./embedded.ts";
import { isServerOf, processStart } from "./process.ts";

/** One cluster for most tests; each test leaves it stopped and intact. */
let dataDir = "";
const cleanUp: (() => Promise<void>)[] = [];
before(async () => {
  // A hook added inside another hook would run after the first test.
  dataDir = join(await newDirectory({ after: (work) => cleanUp.push(work) }), "data");
});
after(async () => {
  for (const work of cleanUp) await work();
});

describe("the embedded PostgreSQL", () => {
  it("is created by the first start, reused by the second, and ends with stop", async (t) => {
    const log = recorder();
    const first = await start(t, { dataDir, log });
    const pid = first.pid()!;
    await query(first.url, (sql) => sql`create table kept as select 42 as value`);
    assert.equal((await stat(join(dataDir, "postgres.json"))).mode & 0o777, 0o600);
    assert.equal((await stat(join(dataDir, "postgres"))).mode & 0o777, 0o700);
    const [listens] = await query(
      first.url,
      (sql) => sql`
      select current_setting('listen_addresses') as addresses, current_setting('fsync') as fsync,
             current_setting('synchronous_commit') as commit, inet_server_addr() as address`,
    );
    assert.deepEqual({ ...listens }, { addresses: "", fsync: "on", commit: "on", address: null });
    const wrong = first.url.replace(/:[^:@]+@/, ":guess@");
    await assert.rejects(
      query(wrong, (sql) => sql`select 1`),
      { code: "28P01" },
    );
    await first.stop();
    assert.equal(processStart(pid), undefined);
    assert.deepEqual((await readdir(dataDir)).sort(), ["postgres", "postgres.conf", "postgres.json", "postgres.log"]);

    const second = await start(t, { dataDir, log });
    await assertKept(second.url);
    const warnings = log.lines.filter((line) => !line.startsWith("info"));
    assert.deepEqual(warnings, []);
  });

  it("restarts with every acknowledged row after each kill -9 of the server", async (t) => {
    const server = await start(t, { dataDir });
    await query(server.url, (sql) => sql`create table acknowledged (n int)`);
    const exits: string[] = [];
    server.onExit((how) => exits.push(how));
    const known: number[] = [];
    for (let round = 0; round < 3; round++) {
      const pid = server.pid()!;
      await query(server.url, async (sql) => {
        for (let i = 0; i < 50; i++) {
          await sql`insert into acknowledged values (${known.length})`;
          known.push(known.length);
        }
        process.kill(pid, "SIGKILL");
        return [];
      });
      await until(() => server.pid() !== undefined && server.pid() !== pid, "the server is back");
    }
    const rows = await query(server.url, (sql) => sql`select n from acknowledged order by n`);
    assert.deepEqual(
      rows.map(({ n }) => n),
      known,
    );
    assert.deepEqual(exits, Array(3).fill("signal SIGKILL"));
  });

  it("stops when its program is killed, and the next program can start", async (t) => {
    const program = runProgram(t, dataDir);
    const { serverPid } = await program.ready;
    program.child.kill("SIGKILL");
    await until(() => processStart(serverPid) === undefined, "the guard has stopped the server");
    await assertKept((await start(t, { dataDir })).url);
  });

  it("survives a Ctrl-C in the terminal until the program stops it", async (t) => {
    const program = runProgram(t, dataDir);
    const { url, serverPid } = await program.ready;
    process.kill(-program.child.pid!, "SIGINT");
    await assertKept(url);
    assert.ok(isServerOf(serverPid, join(dataDir, "postgres")));
    await endGently(program.child);
    assert.equal(processStart(serverPid), undefined);
  });

  it("stops a leftover server whose guard was killed", async (t) => {
    if (!existsSync("/proc/self/cmdline")) return t.skip("finds the guard in /proc");
    const program = runProgram(t, dataDir);
    const { serverPid } = await program.ready;
    const guard = findGuard(serverPid);
    process.kill(guard, "SIGKILL");
    await until(() => processStart(guard) === undefined, "the guard is dead");
    program.child.kill("SIGKILL");
    await once(program.child, "exit");
    assert.ok(isServerOf(serverPid, join(dataDir, "postgres")), "the server is an orphan now");
    const log = recorder();
    const next = await start(t, { dataDir, log });
    assert.ok(
      log.lines.some((line) => line.startsWith("warn") && line.includes(`${serverPid}`)),
      log.lines.join("\n"),
    );
    assert.equal(processStart(serverPid), undefined);
    await assertKept(next.url);
  });

  it("starts when another process has the pid of the old server", async (t) => {
    const cluster = join(dataDir, "postgres");
    const { uid, gid } = await stat(cluster);
    const other = spawn("sleep", ["600"], isRoot ? { uid, gid } : {});
    t.after(() => other.kill("SIGKILL"));
    await writeFile(join(cluster, "postmaster.pid"), `${other.pid}\n${cluster}\n1\n5432\n${cluster}\n\n 1 1\nready\n`);
    await assertKept((await start(t, { dataDir })).url);
    assert.notEqual(processStart(other.pid!), undefined, "the other process still runs");
  });

  it("gets a new password when postgres.json is lost", async (t) => {
    const before = await readFile(join(dataDir, "postgres.json"), "utf8");
    await rm(join(dataDir, "postgres.json"));
    const server = await start(t, { dataDir });
    assert.ok(!before.includes(server.url));
    await assertKept(server.url);
    assert.ok(!(await readdir(dataDir)).includes("postgres.hba.conf"));
  });

  it("is refused when another major version created the cluster", async (t) => {
    const file = join(dataDir, "postgres", "PG_VERSION");
    t.after(() => writeFile(file, "18\n"));
    await writeFile(file, "17\n");
    await assert.rejects(startEmbedded({ dataDir, log: recorder() }), (error: EmbeddedError) => {
      assert.equal(error.code, "version");
      return /created by PostgreSQL 17/.test(error.message) && error.message.includes("DATABASE_URL");
    });
  });

  it("uses the operator's settings, and reports PostgreSQL's error about invalid ones", async (t) => {
    const conf = join(dataDir, "postgres", "postgresql.conf");
    const before = await readFile(conf, "utf8");
    t.after(() => writeFile(conf, before));
    await writeFile(conf, `${before}\nshared_buffers = 'plenty'\n`);
    await assert.rejects(startEmbedded({ dataDir, log: recorder() }), {
      code: "failed",
      message: /shared_buffers.*plenty/s,
    });
    await writeFile(conf, `${before}\nmax_connections = 33\n`);
    const server = await start(t, { dataDir });
    const [row] = await query(server.url, (sql) => sql`select current_setting('max_connections') as n`);
    assert.equal(row?.n, "33");
  });

  it("is created again when the program was killed during initdb", async (t) => {
    const newDir = join(await newDirectory(t), "data");
    const program = runProgram(t, newDir);
    program.ready.catch(() => {});
    const draft = () => readdirSync(newDir).find((name) => /^postgres\.new-\w+$/.test(name));
    await until(() => existsSync(newDir) && draft() !== undefined, "initdb is at work");
    program.child.kill("SIGKILL");
    await once(program.child, "exit");
    assert.equal(existsSync(join(newDir, "postgres")), false);
    const server = await start(t, { dataDir: newDir });
    assert.equal((await query(server.url, (sql) => sql`select 1`)).length, 1);
    assert.equal(draft(), undefined);
  });
});

describe("several programs on one data directory", () => {
  it("refuses a second program and names the first, and lets a command join", async (t) => {
    const program = runProgram(t, dataDir);
    const { serverPid } = await program.ready;
    await assert.rejects(startEmbedded({ dataDir, log: recorder() }), (error: EmbeddedError) => {
      assert.equal(error.code, "locked");
      assert.match(error.message, new RegExp(`process ${program.child.pid}\\b`));
      return error.message.includes(dataDir);
    });
    const command = await openEmbedded({ dataDir, log: recorder() });
    assert.equal(command.owned, false);
    await assertKept(command.url);
    await command.stop();
    assert.ok(isServerOf(serverPid, join(dataDir, "postgres")), "the program's server still runs");
    await endGently(program.child);
    assert.equal(processStart(serverPid), undefined);
  });

  it("lets only one of three programs run that start at the same time after a crash", async (t) => {
    const crashed = runProgram(t, dataDir);
    await crashed.ready;
    crashed.child.kill("SIGKILL");
    await once(crashed.child, "exit");
    const programs = [runProgram(t, dataDir), runProgram(t, dataDir), runProgram(t, dataDir)];
    const results = await Promise.allSettled(programs.map(({ ready }) => ready));
    assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected", "rejected"]);
    await endGently(programs[results.findIndex(({ status }) => status === "fulfilled")]!.child);
  });

  it("lets a command start its own server, and a starting program waits for it", async (t) => {
    const command = await openEmbedded({ dataDir, log: recorder() });
    assert.equal(command.owned, true);
    let programUp = false;
    const program = start(t, { dataDir }).then((server) => {
      programUp = true;
      return server;
    });
    await assertKept(command.url);
    assert.equal(programUp, false);
    await command.stop();
    await assertKept((await program).url);
  });
});

async function assertKept(url: string): Promise<void> {
  assert.deepEqual([...(await query(url, (sql) => sql`select value from kept`))], [{ value: 42 }]);
}

async function endGently(child: ChildProcess): Promise<void> {
  child.kill("SIGTERM");
  const [code] = await once(child, "exit");
  assert.equal(code, 0);
}

function findGuard(serverPid: number): number {
  const found = readdirSync("/proc").find((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      return words[3] === "posthorn-guard" && words[4] === String(serverPid);
    } catch {
      return false;
    }
  });
  assert.ok(found, "the guard runs");
  return Number(found);
}
