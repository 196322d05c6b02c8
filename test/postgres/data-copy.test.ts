/** Runs the copy command of docs/operate.md as written: the copy works independently, and a copy of a running instance is
 * rejected without harm to the original. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { runningPorts } from "../../src/app/files.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";

/** The program generates its secret, which is part of the copy. */
const env = { POSTHORN_SECRET: "" };
const email = { from: "a@example.test", to: ["b@example.test"], subject: "Kept", body: "Hello" };

async function documentedCommand(): Promise<string> {
  const text = await readFile(new URL("../../docs/operate.md", import.meta.url), "utf8");
  const [, command] = /```sh\n(cp .*)\n```/.exec(text) ?? [];
  assert.match(command ?? "", /^cp -a data \w+$/);
  return command!;
}

describe("a copied data directory", () => {
  /** Made by mkdtemp: if root runs the test, the database's account cannot enter it, like a checkout in /root. */
  let parent = "";
  const running: RunningProgram[] = [];
  const start = async (name: string) => {
    const program = await startProgram({ dataDir: join(parent, name), env });
    running.push(program);
    return program;
  };
  const copyData = async () => {
    const command = await documentedCommand();
    await promisify(execFile)("/bin/sh", ["-c", command], { cwd: parent });
    return command.split(" ").at(-1)!;
  };
  const hasEmail = async (program: RunningProgram, id: string) =>
    (await program.call("EmailService/GetEmail", { id })).status === 200;
  const send = async (program: RunningProgram) =>
    (await program.call("EmailService/SendEmail", email)).body.id as string;

  let copy = "";
  let kept = "";
  before(async () => {
    parent = await mkdtemp(join(tmpdir(), "posthorn-copy-"));
  });
  after(async () => {
    for (const program of running) await program.stop();
    await rm(parent, { recursive: true, force: true });
  });

  it("contains the database and works while the original is stopped", async () => {
    const original = await start("data");
    kept = await send(original);
    assert.equal(await original.stop(), 0);
    copy = await copyData();
    assert.ok((await stat(join(parent, copy, "postgres", "PG_VERSION"))).isFile());
    const program = await start(copy);
    assert.ok(await hasEmail(program, kept));
    assert.equal(program.key, original.key);
    await program.stop();
  });

  it("works while the original runs, with a separate database", async () => {
    const original = await start("data");
    const program = await start(copy);
    const [here, there] = [await send(program), await send(original)];
    assert.deepEqual(
      [await hasEmail(program, here), await hasEmail(program, there), await hasEmail(original, here)],
      [true, false, false],
    );
    const listed = await runCommand(["events", "--json"], { dataDir: join(parent, copy), env });
    assert.ok(
      listed.stdout.includes(here) && !listed.stdout.includes(there),
      "a command connects to the copy's server",
    );
    await program.stop();
    await rm(join(parent, copy), { recursive: true });
    await original.stop();
  });

  it("of a running instance is rejected with an explanation, and the original keeps running", async () => {
    const original = await start("data");
    const serverPid = await readFile(join(parent, "data/postgres/postmaster.pid"), "utf8");
    copy = await copyData();
    const dataDir = join(parent, copy);
    assert.ok(await runningPorts(join(parent, "data")));
    assert.equal(await runningPorts(dataDir), undefined, "the ports are the original's");
    for (const command of [["start"], ["events"], ["backup", join(parent, "saved")]]) {
      const { code, stdout, stderr } = await runCommand(command, { dataDir, env });
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(stderr, /^\S+ is a copy of \S+data, made while Posthorn \(process \d+\) ran .*posthorn backup.*\n$/);
    }
    assert.ok(await hasEmail(original, kept));
    assert.equal(await readFile(join(parent, "data/postgres/postmaster.pid"), "utf8"), serverPid);
    await original.stop();
    assert.equal((await runCommand(["start"], { dataDir, env })).code, 1, "even after the original has stopped");
    await rm(dataDir, { recursive: true });
  });

  it("works when the original is gone", async () => {
    copy = await copyData();
    await rm(join(parent, "data"), { recursive: true });
    const program = await start(copy);
    assert.ok(await hasEmail(program, kept));
    await program.stop();
  });
});
