/** Brings the schema up to date: forward-only SQL files in order. Each commits alone under an advisory lock, so nodes may start together
 * and a kill at any moment leaves a schema from which the next start goes on. The rules for a new file: docs/decisions/0022-migrations.md. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { type Blocker, briefly } from "./brief-locks.ts";
import type { Sql } from "./db.ts";
import { buildIndex } from "./index-build.ts";
import { type Migration, readMigrations } from "./migration-files.ts";
import { ensurePartitions } from "./partitions.ts";
import { createRecord, readApplied, record } from "./schema-state.ts";
import { judgeSchema, type Place } from "./schema-verdict.ts";

export { readMigrations } from "./migration-files.ts";

/** Any number will do, as long as no other program takes it in the same database. Older programs take this one, too. */
const lockKey = 0x706f7374; // "post"
const betweenTriesMs = 100;

export type Progress =
  | { kind: "applied"; migration: string; tookMs: number }
  | { kind: "index"; migration: string; index: string; table: string; step: number; of: number }
  | { kind: "building"; migration: string; index: string; phase: string; percent: number | undefined }
  | { kind: "waiting"; migration: string; tables: string[]; blocker: Blocker | undefined }
  | { kind: "queued"; migration: string };

export type MigrateOptions = {
  /** Another folder of migrations, for tests. */
  folder?: URL;
  place?: Place;
  /** Where each step is reported; the log otherwise. */
  tell?: (progress: Progress) => void;
};

export type Migrated = {
  applied: string[];
  /** The schema's version, above the program's own when a newer release migrated it. */
  version: number;
  /** The version that this program was written for. */
  known: number;
};

export async function migrate(sql: Sql, log: Log, options: MigrateOptions = {}): Promise<Migrated> {
  const { place = { kind: "external" }, tell = (progress: Progress) => write(log, progress) } = options;
  const steps = await readMigrations(options.folder);
  const applied: string[] = [];
  for (;;) {
    const done = await readApplied(sql);
    const { version, serves } = judgeSchema(steps, done, place);
    const step = steps[done.length];
    if (step && version < steps.length) {
      const began = performance.now();
      const mine = step.index ? await applyIndex(sql, step, tell) : await applyFile(sql, step, tell);
      if (!mine) continue;
      applied.push(step.name);
      tell({ kind: "applied", migration: step.name, tookMs: Math.round(performance.now() - began) });
      continue;
    }
    if (version > steps.length)
      log.info(
        { schema: version, program: steps.length, serves },
        "the schema is newer than this program and serves it",
      );
    await ensurePartitions(sql);
    return { applied, version, known: steps.length };
  }
}

/** True when this call applied it, false when another node did or is at it. */
async function applyFile(sql: Sql, step: Migration, tell: (progress: Progress) => void): Promise<boolean> {
  const change = async (tx: Sql) => {
    if (!(await takeLock(tx))) return "busy";
    if (!(await isNext(tx, step))) return "done";
    await tx.unsafe(step.text);
    await record(tx, step);
    return "applied";
  };
  const tables = step.touches;
  const onWait = (blocker: Blocker | undefined) => tell({ kind: "waiting", migration: step.name, tables, blocker });
  const outcome = step.validates
    ? await sql.session((own) => own.begin(change))
    : await briefly(sql, change, { tables, onWait });
  if (outcome === "busy") await delay(betweenTriesMs);
  return outcome === "applied";
}

/** Not under the lock that other nodes wait for: CREATE INDEX CONCURRENTLY waits for every open snapshot, and a program of schema
 * version 1 that waits for that lock holds one, which would be a deadlock. The builder has a lock of its own. */
async function applyIndex(sql: Sql, step: Migration, tell: (progress: Progress) => void): Promise<boolean> {
  await buildIndex(sql, step.index!, {
    isDone: async (own) => (await readApplied(own)).some((row) => row.version === step.version),
    onQueue: () => tell({ kind: "queued", migration: step.name }),
    onStep: (at) => tell({ kind: "index", migration: step.name, ...at }),
    onProgress: (at) => tell({ kind: "building", migration: step.name, ...at }),
    onWait: (tables, blocker) => tell({ kind: "waiting", migration: step.name, tables, blocker }),
  });
  for (;;) {
    const outcome = await sql.begin(async (tx) => {
      if (!(await takeLock(tx))) return "busy";
      if (!(await isNext(tx, step))) return "done";
      await record(tx, step);
      return "applied";
    });
    if (outcome !== "busy") return outcome === "applied";
    await delay(betweenTriesMs);
  }
}

/** Asked for and never waited for: a session that waits holds a snapshot, which index builds of others would wait for. */
async function takeLock(tx: Sql): Promise<boolean> {
  const [row] = await tx<{ taken: boolean }[]>`select pg_try_advisory_xact_lock(${lockKey}) as taken`;
  return row!.taken;
}

async function isNext(tx: Sql, step: Migration): Promise<boolean> {
  if (step.version === 1) await createRecord(tx);
  return (await readApplied(tx)).length === step.version - 1;
}

function write(log: Log, progress: Progress): void {
  const { kind, ...facts } = progress;
  if (kind === "applied") log.info(facts, "schema migrated");
  else if (kind === "waiting")
    log.warn(facts, "a migration waits for a lock; it tries again and blocks no other session");
  else if (kind === "queued") log.info(facts, "another node builds the index of this migration; waiting for it");
  else log.info(facts, "building an index for a migration");
}
