/** The copy command of docs/operate.md, run as written: the copy works on its own, and a copy of a running instance touches nothing of it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { runningPorts } from "../../src/app/files.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";

/** The program makes a secret of its own, which is part of the copy. */
const env = { POSTHORN_SECRET: "" };
const email = { from: "a@example.test", to: ["b@example.test"], subject: "Kept", body: "Hello" };

async function documentedCommand(): Promise<string> {
  const text = await readFile(new URL("../../docs/operate.md", import.meta.url), "utf8");
  const [, command] = /```sh\n(cp .*)\n```/.exec(text) ?? [];
  assert.match(command ?? "", /^cp -a data \w+$/);
  return command!;
}

describe("a copied data directory", () => {
  /** As mkdtemp makes it: as root, a directory that the database's own account cannot enter, like a checkout in /root. */
  let place = "";
  const running: RunningProgram[] = [];
  const start = async (name: string) => {
    const program = await startProgram({ dataDir: join(place, name), env });
    running.push(program);
    return program;
  };
  const copyData = async () => {
    const command = await documentedCommand();
    await promisify(execFile)("/bin/sh", ["-c", command], { cwd: place });
    return command.split(" ").at(-1)!;
  };
  const holds = async (program: RunningProgram, id: string) =>
    (await program.call("EmailService/GetEmail", { id })).status === 200;
  const send = async (program: RunningProgram) =>
    (await program.call("EmailService/SendEmail", email)).body.id as string;

  let copy = "";
  let kept = "";
  before(async () => {
    place = await mkdtemp(join(tmpdir(), "posthorn-copy-"));
  });
  after(async () => {
    for (const program of running) await program.stop();
    await rm(place, { recursive: true, force: true });
  });

  it("holds the database, and works while the original is stopped", async () => {
    const original = await start("data");
    kept = await send(original);
    assert.equal(await original.stop(), 0);
    copy = await copyData();
    assert.ok((await stat(join(place, copy, "postgres", "PG_VERSION"))).isFile());
    const program = await start(copy);
    assert.ok(await holds(program, kept));
    assert.equal(program.key, original.key);
    await program.stop();
  });

  it("works while the original runs, each with a database of its own", async () => {
    const original = await start("data");
    const program = await start(copy);
    const [here, there] = [await send(program), await send(original)];
    assert.deepEqual(
      [await holds(program, here), await holds(program, there), await holds(original, here)],
      [true, false, false],
    );
    const listed = await runCommand(["events", "--json"], { dataDir: join(place, copy), env });
    assert.ok(listed.stdout.includes(here) && !listed.stdout.includes(there), "a command joins the copy's own server");
    await program.stop();
    await rm(join(place, copy), { recursive: true });
    await original.stop();
  });

  it("of a running instance is refused with a sentence, and the original goes on", async () => {
    const original = await start("data");
    const serverPid = await readFile(join(place, "data/postgres/postmaster.pid"), "utf8");
    copy = await copyData();
    const dataDir = join(place, copy);
    assert.ok(await runningPorts(join(place, "data")));
    assert.equal(await runningPorts(dataDir), undefined, "the ports are the original's");
    for (const command of [["start"], ["events"], ["backup", join(place, "saved")]]) {
      const { code, stdout, stderr } = await runCommand(command, { dataDir, env });
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(stderr, /^\S+ is a copy of \S+data, made while Posthorn \(process \d+\) ran .*posthorn backup.*\n$/);
    }
    assert.ok(await holds(original, kept));
    assert.equal(await readFile(join(place, "data/postgres/postmaster.pid"), "utf8"), serverPid);
    await original.stop();
    assert.equal((await runCommand(["start"], { dataDir, env })).code, 1, "also when the original has stopped");
    await rm(dataDir, { recursive: true });
  });

  it("works when the original is gone", async () => {
    copy = await copyData();
    await rm(join(place, "data"), { recursive: true });
    const program = await start(copy);
    assert.ok(await holds(program, kept));
    await program.stop();
  });
});
