/** Helpers for tests that replace the secret: settings of nodes, the command, and what is sealed in the database. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { sealedColumns } from "../../src/app/sealed-columns.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { createSecrets } from "../../src/postgres/sealing.ts";
import { programEnv, runCommand, testSecret } from "./program.ts";

export const newSecret = "the secret that replaces the one of all test programs";

/** POSTHORN_SECRET and POSTHORN_SECRET_PREVIOUS of a node during the replacement. */
export const bothSecrets = { POSTHORN_SECRET: newSecret, POSTHORN_SECRET_PREVIOUS: testSecret };

export const idOf = (secret: string) => createSecrets(secret).ids()[0]!;

export type CommandOptions = { dataDir: string; databaseUrl?: string; env: Record<string, string> };

/** Runs `posthorn secret …`, which must succeed, and returns what it prints. */
export async function runSecret(args: string[], options: CommandOptions): Promise<string> {
  const { code, stdout, stderr } = await runCommand(["secret", ...args], options);
  assert.equal(code, 0, `${stdout}${stderr}`);
  return stdout;
}

const bin = fileURLToPath(new URL("../../bin/posthorn.js", import.meta.url));

/** Runs `posthorn secret …`, and kills it with SIGKILL when `when` resolves, unless it has ended by then. Returns whether it was killed. */
export async function killSecret(
  args: string[],
  options: CommandOptions,
  when: () => Promise<unknown>,
): Promise<boolean> {
  const child = spawn(process.execPath, [bin, "secret", ...args], {
    env: programEnv(options.dataDir, options),
    stdio: "ignore",
    detached: true,
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await Promise.race([ended, when()]);
  const killed = child.exitCode === null;
  // bin/posthorn.js may run the command in a process of its own.
  if (killed) process.kill(-child.pid!, "SIGKILL");
  await ended;
  return killed;
}

/** All sealed texts in the database, opened with the given secrets. Fails if one of them does not open. */
export async function openAll(sql: Sql, secrets: { open(sealed: string, context: string): string }): Promise<string[]> {
  const found: string[] = [];
  for (const { table, column, key, context } of sealedColumns) {
    const rows = await sql.unsafe<{ key: string[]; sealed: string }[]>(
      `select array[${key.join(", ")}]::text[] as key, ${column} as sealed from ${table} where ${column} is not null order by 1`,
    );
    found.push(...rows.map((row) => secrets.open(row.sealed, context(row.key))));
  }
  return found;
}

/** How many sealed texts begin with a prefix. */
export async function countSealed(sql: Sql, prefix: string): Promise<number> {
  let count = 0;
  for (const { table, column } of sealedColumns) {
    const [row] = await sql.unsafe<{ n: number }[]>(
      `select count(*)::int as n from ${table} where starts_with(${column}, '${prefix}')`,
    );
    count += row!.n;
  }
  return count;
}
