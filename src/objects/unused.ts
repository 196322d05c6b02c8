/** Deletes the objects whose rows were deleted, by retention, with a workspace or after a move, and once a day sweeps the store. Started by
 * app/assemble/housekeeping.ts on every node with that role; one at a time works. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { ContentStore } from "./content-store.ts";
import { endTurn, forgetUnused, listUnused, readSweep, takeTurn } from "./store/objects.ts";
import { isOfOneObject, StoreError } from "./store-error.ts";
import { sweep } from "./sweep.ts";

/** A read that began before its row was deleted, and a message that is being sent, may still need the object. */
export const unusedMinutes = 60;
const batchSize = 200;
const turnSeconds = 120;

export type UnusedDeps = {
  sql: Sql;
  log: Log;
  contents: ContentStore;
  store: string;
  nowMs(): number;
  everyMs?: number;
  afterMinutes?: number;
};

/** Deletes what is due now. Returns how many objects are gone. */
export async function deleteUnused(
  { sql, contents, afterMinutes = unusedMinutes }: Pick<UnusedDeps, "sql" | "contents" | "afterMinutes">,
  signal?: AbortSignal,
): Promise<number> {
  const turn = { what: "unused", owner: randomUUID(), seconds: turnSeconds };
  let deleted = 0;
  try {
    while (!signal?.aborted && (await takeTurn(sql, turn))) {
      const places = await listUnused(sql, { afterMinutes, limit: batchSize });
      if (places.length === 0) return deleted;
      const { gone, isAllowed, failure } = await contents.delete(places, signal);
      await forgetUnused(
        sql,
        gone.map(({ id }) => id),
      );
      deleted += gone.length;
      if (failure) throw failure;
      if (!isAllowed) return deleted;
    }
    return deleted;
  } finally {
    await endTurn(sql, turn).catch(() => {});
  }
}

/** content-store.ts logs the refusal. It must not keep the sweep from its turn. */
function noneIfRefused(error: unknown): number {
  if (!isOfOneObject(error)) throw error;
  return 0;
}

export function createUnusedLoop(deps: UnusedDeps) {
  const { sql, log, everyMs = 60_000 } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> = Promise.resolve();

  async function round(): Promise<void> {
    const deleted = await deleteUnused(deps, signal).catch(noneIfRefused);
    if (deleted > 0) log.info({ deleted }, "objects that are no longer used were deleted");
    if (!(await readSweep(sql)).isDue || signal.aborted) return;
    const { kind, ...counts } = await sweep({ ...deps, signal });
    if (kind === "finished") log.info(counts, "the object storage was swept");
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await round().catch((error) => {
        // content-store.ts and health.ts report a store or a database that is away.
        if (signal.aborted || error instanceof StoreError || isDatabaseAway(error)) return;
        log.error({ err: error }, "deleting unused objects failed; it goes on with the next round");
      });
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
