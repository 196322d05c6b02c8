/** Compares the mark in the store with this database, writes it where there is none, and changes it for posthorn content adopt. Used by
 * content-store.ts. */
import type { Sql } from "../postgres/pool.ts";
import { markName, mayUse, meanings, readMark, type Standing, standingOf, writeMark } from "./rules/mark.ts";
import type { S3 } from "./s3.ts";
import { type Identity, noteMark, readIdentity } from "./store/lines.ts";
import { hasObjects } from "./store/objects.ts";
import { StoreError } from "./store-error.ts";

export type StandingState = {
  /** Reads the mark, and writes it if there is none yet. Rejects with a StoreError if the store cannot be used. */
  check(signal?: AbortSignal): Promise<Checked>;
  /** The line for new objects. Uses a check of the last minute, unless the database has another state since then. */
  requireUse(signal?: AbortSignal): Promise<Checked>;
  /** By a check of this moment: another database may have adopted the store. */
  mayDelete(signal?: AbortSignal): Promise<boolean>;
  /** As of the last check. */
  last(): Checked | undefined;
  /** What the mark says, without changing it. */
  look(
    signal?: AbortSignal,
  ): Promise<{ standing: Standing; identity: Identity; found: { instance: string; cut: string } | undefined }>;
  adopt(signal?: AbortSignal): Promise<void>;
};

export type Checked = { standing: Standing; line: string };

const validMs = 60_000;

export function createStanding({ s3, sql }: { s3: S3; sql: Sql }): StandingState {
  let last: (Checked & { atMs: number }) | undefined;
  let serverChanges = 0;
  // After a failover the database may have another state: a new line of objects.
  sql.health.onServerChange(() => {
    serverChanges++;
    last = undefined;
  });

  async function look(signal?: AbortSignal) {
    const identity = await readIdentity(sql);
    const mark = await s3.find(markName, signal);
    const expectsMark = mark !== undefined || identity.hasMark || (await hasObjects(sql));
    return { identity, standing: standingOf(mark, { ...identity, expectsMark }), found: mark && readMark(mark) };
  }

  async function check(signal?: AbortSignal): Promise<Checked> {
    const changesBefore = serverChanges;
    const seen = await look(signal);
    // Another node, or another instance, may write the mark at the same time: what the store has afterwards is valid.
    if (seen.standing === "new") await put(seen.identity, { ifAbsent: true, signal });
    const { identity, standing } = seen.standing === "new" ? await look(signal) : seen;
    if (serverChanges !== changesBefore) return await check(signal);
    last = { standing, line: identity.line, atMs: performance.now() };
    if (!mayUse(standing)) throw new StoreError("wrongMark", meanings[standing]);
    if (!identity.hasMark) await noteMark(sql);
    return last;
  }

  async function put(identity: Identity, options: { ifAbsent: boolean; signal?: AbortSignal }): Promise<void> {
    const mark = writeMark(identity);
    await s3.put(markName, { bytes: mark.length, chunks: () => [mark] }, options);
  }

  return {
    check,
    look,
    last: () => last,
    async requireUse(signal) {
      const isFresh = last !== undefined && mayUse(last.standing) && performance.now() - last.atMs < validMs;
      return isFresh ? last! : await check(signal);
    },
    async mayDelete(signal) {
      return (await check(signal)).standing === "ours";
    },
    async adopt(signal) {
      const { identity } = await look(signal);
      await put(identity, { ifAbsent: false, signal });
      await noteMark(sql);
      await check(signal);
    },
  };
}
