/**
 * Migrates the schema: applies forward-only SQL files in order. Each file commits alone under an advisory lock, so nodes may start at
 * the same time, and after a kill the next start continues. docs/decisions/0022-migrations.md has the rules for a new file.
 */
import type { Log } from "../ops/log.ts";
import { type Blocker, pauseFor, runAndCommit, withBriefLocks, withoutReceipt } from "./brief-locks.ts";
import { buildIndex, runExclusively } from "./index-build.ts";
import { type Migration, readMigrations } from "./migration-files.ts";
import { ensurePartitions } from "./partitions.ts";
import type { Sql } from "./pool.ts";
import { createRecord, readApplied, recordMigration } from "./schema-state.ts";
import { type DatabaseLocation, judgeSchema } from "./schema-verdict.ts";

export { readMigrations } from "./migration-files.ts";

/** The key of the advisory lock. Older releases use the same one, so it must not change. */
const lockKey = 0x706f7374; // "post"
const betweenTriesMs = 100;

export type MigrationProgress =
  | { kind: "applied"; migration: string; tookMs: number }
  | { kind: "index"; migration: string; index: string; table: string; step: number; of: number }
  | { kind: "building"; migration: string; index: string; phase: string; percent: number | undefined }
  | { kind: "waiting"; migration: string; tables: string[]; blocker: Blocker | undefined }
  | { kind: "queued"; migration: string };

export type MigrateOptions = {
  /** Another folder of migrations, for tests. */
  folder?: URL;
  location?: DatabaseLocation;
  /** Called for each step; by default the steps are logged. */
  onProgress?: (progress: MigrationProgress) => void;
  /** Ends every wait and cancels an index build; `migrate` then rejects with the signal's reason. The next start continues. */
  stop?: AbortSignal;
};

type StepOptions = {
  step: Migration;
  onProgress: (progress: MigrationProgress) => void;
  stop: AbortSignal | undefined;
};

export type Migrated = {
  applied: string[];
  /** The schema's version; higher than `known` when a newer release has migrated it. */
  version: number;
  /** The newest version that this program ships. */
  known: number;
};

export async function migrate(sql: Sql, log: Log, options: MigrateOptions = {}): Promise<Migrated> {
  const {
    location = { kind: "external" },
    onProgress = (progress: MigrationProgress) => logProgress(log, progress),
    stop,
  } = options;
  const steps = await readMigrations(options.folder);
  const applied: string[] = [];
  for (;;) {
    stop?.throwIfAborted();
    const done = await readApplied(sql);
    const { version, serves } = judgeSchema(steps, done, location);
    const step = steps[done.length];
    if (step && version < steps.length) {
      const began = performance.now();
      const isLong = step.index !== undefined || step.validates;
      const appliedHere = await (isLong ? applyLong : applyFile)(sql, { step, onProgress, stop });
      if (!appliedHere) continue;
      applied.push(step.name);
      onProgress({ kind: "applied", migration: step.name, tookMs: Math.round(performance.now() - began) });
      continue;
    }
    if (version > steps.length)
      log.info(
        { schema: version, program: steps.length, serves },
        "the schema is newer than this program and serves it",
      );
    const onWait = (table: string, blocker: Blocker | undefined) =>
      onProgress({ kind: "waiting", migration: "new partitions", tables: [table], blocker });
    await ensurePartitions(sql, { onWait, stop });
    return { applied, version, known: steps.length };
  }
}

/** Returns true when this call applied the file, false when another node did or is applying it. */
async function applyFile(sql: Sql, { step, onProgress, stop }: StepOptions): Promise<boolean> {
  const change = async (tx: Sql) => {
    if (!(await takeLock(tx))) return "busy";
    if (!(await isNext(tx, step))) return "done";
    if (step.version === 2) {
      // This file creates the table that `record` writes to.
      await tx.unsafe(step.text);
      await recordMigration(tx, step);
    } else {
      await recordMigration(tx, step);
      await runAndCommit(tx, step.text);
    }
    return "applied";
  };
  const tables = step.touches;
  const onWait = (blocker: Blocker | undefined) =>
    onProgress({ kind: "waiting", migration: step.name, tables, blocker });
  const outcome = await withBriefLocks(sql, change, { tables, onWait, stop });
  if (outcome === "busy") await pauseFor(betweenTriesMs, stop);
  return outcome === "applied";
}

/**
 * Builds an index or validates a constraint, then records it. The long part does not take the migration lock: a program of schema
 * version 1 waits for that lock, gives up after 35 s, and holds a snapshot meanwhile. CREATE INDEX CONCURRENTLY waits for that snapshot,
 * so the two would deadlock.
 */
async function applyLong(sql: Sql, { step, onProgress, stop }: StepOptions): Promise<boolean> {
  const migration = step.name;
  const work = {
    isDone: async (session: Sql) => (await readApplied(session)).some((row) => row.version === step.version),
    onQueue: () => onProgress({ kind: "queued", migration }),
    stop,
  };
  if (step.index)
    await buildIndex(sql, step.index, {
      ...work,
      onStep: (at) => onProgress({ kind: "index", migration, ...at }),
      onProgress: (at) => onProgress({ kind: "building", migration, ...at }),
      onWait: (tables, blocker) => onProgress({ kind: "waiting", migration, tables, blocker }),
    });
  else await runExclusively(sql, work, async (session) => void (await session.unsafe(step.text)));
  for (;;) {
    const outcome = await sql.begin(async (tx) => {
      if (!(await takeLock(tx))) return "busy";
      if (!(await isNext(tx, step))) return "done";
      await recordMigration(tx, step);
      return "applied";
    }, withoutReceipt);
    if (outcome !== "busy") return outcome === "applied";
    await pauseFor(betweenTriesMs, stop);
  }
}

/** Does not wait for the lock: a waiting session holds a snapshot, which would block index builds of other nodes. */
async function takeLock(tx: Sql): Promise<boolean> {
  const [row] = await tx<{ taken: boolean }[]>`select pg_try_advisory_xact_lock(${lockKey}) as taken`;
  return row!.taken;
}

async function isNext(tx: Sql, step: Migration): Promise<boolean> {
  if (step.version === 1) await createRecord(tx);
  return (await readApplied(tx)).length === step.version - 1;
}

function logProgress(log: Log, progress: MigrationProgress): void {
  const { kind, ...facts } = progress;
  if (kind === "applied") log.info(facts, "schema migrated");
  else if (kind === "waiting")
    log.warn(facts, "a migration is waiting for a lock; it retries and blocks no other session");
  else if (kind === "queued") log.info(facts, "another node is running this migration; waiting for it");
  else log.info(facts, "building an index for a migration");
}
