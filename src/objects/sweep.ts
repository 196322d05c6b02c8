/** Deletes objects that no row refers to: a program was killed between an upload and its commit, or the commit failed. Goes through all objects
 * of the store in the order of their names, about once a day, on one node at a time. Started by app/assemble/housekeeping.ts. */
import { randomUUID } from "node:crypto";
import type { Sql } from "../postgres/pool.ts";
import type { ContentStore } from "./content-store.ts";
import { isOldEnough, objectsFolder, readObjectName } from "./rules/name.ts";
import { listLines } from "./store/lines.ts";
import { endTurn, findUsed, readSweep, storeSweep, takeTurn } from "./store/objects.ts";
import { isOfOneObject } from "./store-error.ts";

export type SweepDeps = {
  sql: Sql;
  contents: Pick<ContentStore, "s3" | "delete" | "standing">;
  /** Identifies the store, so that a position in another one is not used. */
  store: string;
  nowMs(): number;
  pageSize?: number;
  signal?: AbortSignal;
  onPage?(progress: SweepProgress): void;
};

export type SweepProgress = { seen: number; deleted: number };
export type SweepResult = SweepProgress & { kind: "finished" | "stopped" | "busy" | "not allowed" };

/** Longer than one page takes. */
const turnSeconds = 300;

/** Continues where the last sweep stopped. A page is deleted before its position is stored, so a kill repeats at most one page. An object that
 * the store refuses to delete does not keep others from being deleted: the sweep rejects with the refusal at its end. */
export async function sweep(deps: SweepDeps): Promise<SweepResult> {
  const { sql, contents, store, nowMs, pageSize = 500, signal, onPage } = deps;
  const turn = { what: "sweep", owner: randomUUID(), seconds: turnSeconds };
  const done: SweepProgress = { seen: 0, deleted: 0 };
  if (!(await contents.standing.mayDelete(signal))) return { ...done, kind: "not allowed" };
  const { state } = await readSweep(sql);
  let after = state?.store === store ? state.after : undefined;
  let failure: Error | undefined;
  try {
    for (;;) {
      if (signal?.aborted) return { ...done, kind: "stopped" };
      if (!(await takeTurn(sql, turn))) return { ...done, kind: "busy" };
      const page = await contents.s3.list({ under: objectsFolder, after, limit: pageSize, signal });
      const lines = await listLines(sql);
      const old = page.flatMap(({ name, ageMs }) => {
        const place = readObjectName(name);
        return place && lines.has(place.line) && isOldEnough({ ageMs, atMs: place.atMs, nowMs: nowMs() })
          ? [place]
          : [];
      });
      // After the list, so that what was committed until now is found.
      const used = await findUsed(
        sql,
        old.map(({ id }) => id),
      );
      const orphans = old.filter(({ id }) => !used.has(id));
      const deletion = orphans.length === 0 ? undefined : await contents.delete(orphans, signal);
      done.seen += page.length;
      done.deleted += deletion?.gone.length ?? 0;
      onPage?.(done);
      if (deletion?.failure && !isOfOneObject(deletion.failure)) throw deletion.failure;
      failure ??= deletion?.failure;
      if (deletion?.isAllowed === false) return { ...done, kind: "not allowed" };
      after = page.at(-1)?.name;
      const isFinished = page.length === 0;
      await storeSweep(sql, { store, after, isFinished });
      if (isFinished && failure) throw failure;
      if (isFinished) return { ...done, kind: "finished" };
    }
  } finally {
    await endTurn(sql, turn).catch(() => {});
  }
}
