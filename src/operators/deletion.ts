/** Deletes workspaces in the background, in small batches with a pause after each, so that mail has priority. Any number of nodes may do
 * this at once. Started by app/assemble.ts in the role housekeeping; posthorn workspaces delete runs `deleteToEnd` itself. */
import { setTimeout as delay } from "node:timers/promises";
import { record, service } from "../audit/record.ts";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, retrying, type Sql } from "../postgres/pool.ts";
import {
  type Deletion,
  deleteBatch,
  deleteClients,
  findDeletions,
  finishDeletion,
  isDeleted,
  listTables,
  noteSwept,
} from "./store/deletion.ts";
import { forgetReplies } from "./store/person-deletion.ts";

export type DeletionOptions = {
  /** Rows per statement. A row of content has up to 256 KiB. */
  batchRows?: number;
  shortestPauseMs?: number;
  stop?: AbortSignal;
  onProgress?(deletedRows: number): void;
};

const lookEveryMs = 2000;
const busyPauseMs = 250;

export function createDeletions(deps: { sql: Sql; log: Log; everyMs?: number } & DeletionOptions) {
  const { sql, log, everyMs = lookEveryMs } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> = Promise.resolve();

  async function work({ workspaceId, isFinished }: Deletion): Promise<void> {
    const options = { ...deps, stop: signal };
    if (isFinished) await sweep(sql, workspaceId, options);
    else if (await deleteToEnd(sql, workspaceId, options)) log.info({ workspaceId }, "a workspace was deleted");
  }

  /** An error of one deletion does not keep the others from going on. */
  async function round(): Promise<void> {
    for (const deletion of await findDeletions(sql)) {
      if (signal.aborted) return;
      await work(deletion).catch(report);
    }
  }

  function report(error: unknown): void {
    if (!isDatabaseAway(error)) log.error({ err: error }, "deleting a workspace failed; it goes on where it stopped");
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await round().catch(report);
      await delay(everyMs, undefined, { signal }).catch(() => {});
    }
  }

  return {
    start() {
      running = run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Returns when the workspace is gone, or when `stop` is aborted. True: this call did the last step. */
export async function deleteToEnd(sql: Sql, workspaceId: string, options: DeletionOptions = {}): Promise<boolean> {
  for (let deleted = 0; !options.stop?.aborted; ) {
    if (await isDeleted(sql, workspaceId)) return false;
    const rows = await deleteAll(sql, workspaceId, {
      ...options,
      onProgress: (now) => options.onProgress?.(deleted + now),
    });
    if (rows === "busy") await pause(busyPauseMs, options.stop);
    else if (rows > 0) deleted += rows;
    else if (await finish(sql, workspaceId)) return true;
  }
  return false;
}

/** Deletes what transactions wrote after the deletion, because they had begun before it. */
async function sweep(sql: Sql, workspaceId: string, options: DeletionOptions): Promise<void> {
  const rows = await deleteAll(sql, workspaceId, options);
  if (rows === "busy" || options.stop?.aborted) return;
  await retrying(() => forgetReplies(sql));
  await noteSwept(sql, workspaceId);
}

/** Deletes the rows of all tables once, and returns their number. */
async function deleteAll(sql: Sql, workspaceId: string, options: DeletionOptions): Promise<number | "busy"> {
  const { batchRows = 200, shortestPauseMs = 5, stop } = options;
  const clients = "clients";
  let deleted = 0;
  for (const table of [...(await listTables(sql)), clients]) {
    for (let rows = batchRows; rows === batchRows; ) {
      if (stop?.aborted) return deleted;
      const began = performance.now();
      const batch = { workspaceId, limit: batchRows };
      const result = await retrying(() =>
        table === clients ? deleteClients(sql, batch) : deleteBatch(sql, { ...batch, table }),
      );
      if (result === "busy") return "busy";
      rows = result;
      deleted += rows;
      if (rows === 0) continue;
      options.onProgress?.(deleted);
      // At least as long as the batch took, so that a deletion uses at most half of one connection's time.
      await pause(Math.max(shortestPauseMs, performance.now() - began), stop);
    }
  }
  return deleted;
}

async function finish(sql: Sql, workspaceId: string): Promise<boolean> {
  try {
    return await retrying(() =>
      sql.begin(async (tx) => {
        const isLast = await finishDeletion(tx, workspaceId);
        if (isLast) await record(tx, service, { action: "workspace.erased", workspaceId });
        return isLast;
      }),
    );
  } catch (error) {
    // A row was added after the tables were empty: another pass deletes it.
    if ((error as { code?: string }).code === "23503") return false;
    throw error;
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
