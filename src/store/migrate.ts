/** Brings the schema up to date: forward-only SQL files, applied in order under an advisory lock, so that nodes may start together. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { Log } from "../ops/log.ts";
import type { Sql } from "./db.ts";
import { ensurePartitions } from "./partitions.ts";

/** Any number will do, as long as no other program takes it in the same database. */
const lockKey = 0x706f7374; // "post"

const folder = new URL("./migrations/", import.meta.url);

export type Migration = { version: number; name: string; checksum: string; text: string };

export class SchemaError extends Error {
  override readonly name = "SchemaError";
}

export async function migrate(sql: Sql, log: Log): Promise<{ applied: string[]; version: number }> {
  const steps = await readMigrations();
  const applied = await sql.begin(async (tx) => {
    // Waits for a node that is migrating at this moment; its work then shows in the table below.
    await tx`set local lock_timeout = 0`;
    await tx`set local statement_timeout = 0`;
    await tx`select pg_advisory_xact_lock(${lockKey})`;
    await tx`create table if not exists schema_migrations (
      version integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`;
    const done = await tx<{ version: number; name: string; checksum: string }[]>`
      select version, name, checksum from schema_migrations order by version`;
    judge(steps, done);
    return await applyMissing(tx, steps.slice(done.length));
  });
  await ensurePartitions(sql);
  for (const name of applied) log.info({ migration: name }, "schema migrated");
  return { applied, version: steps.length };
}

/** The migrations in the program, numbered 1, 2, 3 … without a gap. */
export async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return await Promise.all(
    names.map(async (name, index) => {
      const version = Number.parseInt(name, 10);
      if (version !== index + 1) throw new SchemaError(`Migration ${name} should have the number ${index + 1}.`);
      const text = await readFile(new URL(name, folder), "utf8");
      return { version, name, text, checksum: createHash("sha256").update(text).digest("hex") };
    }),
  );
}

function judge(steps: Migration[], done: { version: number; name: string; checksum: string }[]): void {
  const newest = done.at(-1);
  if (newest && newest.version > steps.length) {
    throw new SchemaError(
      `The database has schema version ${newest.version} (${newest.name}), this program knows only ${steps.length}. ` +
        "It was migrated by a newer Posthorn: upgrade this node, or restore the back-up taken before that upgrade.",
    );
  }
  done.forEach((row, index) => {
    const step = steps[index];
    if (!step || step.version !== row.version || step.checksum !== row.checksum) {
      throw new SchemaError(
        `Migration ${row.name} in the database is not the one in this program. Run the same release on every node against this database.`,
      );
    }
  });
}

async function applyMissing(tx: Sql, steps: Migration[]): Promise<string[]> {
  for (const step of steps) {
    await tx.unsafe(step.text);
    await tx`insert into schema_migrations (version, name, checksum) values (${step.version}, ${step.name}, ${step.checksum})`;
  }
  return steps.map((step) => step.name);
}
