/** Runs commands on a program's store and, as from another machine, at its API, for tests of the command line. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { type RunningProgram, runCommand, startProgram } from "./program.ts";

export type Where = "local" | "remote";
export const everywhere: Where[] = ["local", "remote"];

export type CommandBed = {
  database: TestDatabase;
  program: RunningProgram;
  /** An empty folder for files. */
  folder: string;
  run(
    where: Where,
    args: string[],
    remote?: { key?: string; url?: string },
  ): Promise<{ code: number | null; stdout: string; stderr: string }>;
  /** The standard output of a command that succeeds. */
  succeed(where: Where, ...args: string[]): Promise<string>;
  /** The JSON lines of a command with --json. */
  rowsOf<Row = Record<string, unknown>>(where: Where, ...args: string[]): Promise<Row[]>;
  /** A command that fails with this code and explanation. */
  fails(
    code: number,
    words: RegExp,
    where: Where,
    args: string[],
    remote?: { key?: string; url?: string },
  ): Promise<void>;
  stop(): Promise<void>;
};

/** The program in capture mode, with the domain example.test. `env` applies to it and to local commands. */
export async function startCommandBed(env: Record<string, string> = {}): Promise<CommandBed> {
  const database = await createTestDatabase({ example: true });
  const program = await startProgram({ databaseUrl: database.url, env });
  const folder = await mkdtemp(join(tmpdir(), "posthorn-commands-"));

  /** Local commands know the database, remote ones only the URL and a key. */
  const run: CommandBed["run"] = async (where, args, { key = program.key, url = program.url } = {}) =>
    await runCommand(
      args,
      where === "local"
        ? { dataDir: program.dataDir, databaseUrl: database.url, env }
        : { dataDir: join(folder, "nothing-here"), env: { POSTHORN_URL: url, POSTHORN_KEY: key } },
    );

  const succeed: CommandBed["succeed"] = async (where, ...args) => {
    const { code, stdout, stderr } = await run(where, args);
    assert.equal(code, 0, `${where} ${args.join(" ")}: ${stderr}`);
    return stdout;
  };

  return {
    database,
    program,
    folder,
    run,
    succeed,
    async rowsOf<Row>(where: Where, ...args: string[]) {
      const text = await succeed(where, ...args, "--json");
      return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Row]));
    },
    async fails(code, words, where, args, remote) {
      const done = await run(where, args, remote);
      assert.equal(done.code, code, `${args.join(" ")}: ${done.stdout}${done.stderr}`);
      assert.match(done.stderr, words);
      assert.doesNotMatch(done.stderr, /^\s+at /m, "no stack trace");
    },
    async stop() {
      await program.remove();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
