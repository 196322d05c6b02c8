/** Brings the schema up to date: forward-only SQL files in order. Each commits alone under an advisory lock, so nodes may start together
 * and a kill at any moment leaves a schema from which the next start goes on. The rules for a new file: docs/decisions/0022-migrations.md. */
import type { Log } from "../ops/log.ts";
import { type Blocker, briefly, commitWith, pauseFor } from "./brief-locks.ts";
import type { Sql } from "./db.ts";
import { buildIndex, workAlone } from "./index-build.ts";
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
  /** Ends every wait and cancels a build; `migrate` then rejects with the signal's reason. The next start goes on from there. */
  stop?: AbortSignal;
};

type Run = { step: Migration; tell: (progress: Progress) => void; stop: AbortSignal | undefined };

export type Migrated = {
  applied: string[];
  /** The schema's version, above the program's own when a newer release migrated it. */
  version: number;
  /** The version that this program was written for. */
  known: number;
};

export async function migrate(sql: Sql, log: Log, options: MigrateOptions = {}): Promise<Migrated> {
  const { place = { kind: "external" }, tell = (progress: Progress) => write(log, progress), stop } = options;
  const steps = await readMigrations(options.folder);
  const applied: string[] = [];
  for (;;) {
    stop?.throwIfAborted();
    const done = await readApplied(sql);
    const { version, serves } = judgeSchema(steps, done, place);
    const step = steps[done.length];
    if (step && version < steps.length) {
      const began = performance.now();
      const takesLong = step.index !== undefined || step.validates;
      const mine = await (takesLong ? applyLong : applyFile)(sql, { step, tell, stop });
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
    const onWait = (table: string, blocker: Blocker | undefined) =>
      tell({ kind: "waiting", migration: "new partitions", tables: [table], blocker });
    await ensurePartitions(sql, { onWait, stop });
    return { applied, version, known: steps.length };
  }
}

/** True when this call applied it, false when another node did or is applying it. */
async function applyFile(sql: Sql, { step, tell, stop }: Run): Promise<boolean> {
  const change = async (tx: Sql) => {
    if (!(await takeLock(tx))) return "busy";
    if (!(await isNext(tx, step))) return "done";
    if (step.version === 2) {
      // This file makes the table of the record.
      await tx.unsafe(step.text);
      await record(tx, step);
    } else {
      await record(tx, step);
      await commitWith(tx, step.text);
    }
    return "applied";
  };
  const tables = step.touches;
  const onWait = (blocker: Blocker | undefined) => tell({ kind: "waiting", migration: step.name, tables, blocker });
  const outcome = await briefly(sql, change, { tables, onWait, stop });
  if (outcome === "busy") await pauseFor(betweenTriesMs, stop);
  return outcome === "applied";
}

/** Builds an index or validates a constraint, then records it. Not under the lock that other nodes wait for: a program of schema version 1
 * that starts gives up after 35 s, and CREATE INDEX CONCURRENTLY waits for the snapshot that the waiting program holds: a deadlock. */
async function applyLong(sql: Sql, { step, tell, stop }: Run): Promise<boolean> {
  const migration = step.name;
  const long = {
    isDone: async (own: Sql) => (await readApplied(own)).some((row) => row.version === step.version),
    onQueue: () => tell({ kind: "queued", migration }),
    stop,
  };
  if (step.index)
    await buildIndex(sql, step.index, {
      ...long,
      onStep: (at) => tell({ kind: "index", migration, ...at }),
      onProgress: (at) => tell({ kind: "building", migration, ...at }),
      onWait: (tables, blocker) => tell({ kind: "waiting", migration, tables, blocker }),
    });
  else await workAlone(sql, long, async (own) => void (await own.unsafe(step.text)));
  for (;;) {
    const outcome = await sql.begin(async (tx) => {
      if (!(await takeLock(tx))) return "busy";
      if (!(await isNext(tx, step))) return "done";
      await record(tx, step);
      return "applied";
    });
    if (outcome !== "busy") return outcome === "applied";
    await pauseFor(betweenTriesMs, stop);
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
  else if (kind === "queued") log.info(facts, "another node works on this migration; waiting for it");
  else log.info(facts, "building an index for a migration");
}
