/**
 * objects/ keeps large content in an S3-compatible store: encrypted, and deleted when no row refers to it any longer. This file is the store
 * as other folders use it: put content before its commit, read it as a stream, and know whether it can be reached. app/assemble wires it.
 * Parts: s3.ts (requests), encryption.ts (the form of an object), rules/mark.ts (whose objects they are), sweep.ts and unused.ts (deleting),
 * store/ (the rows). Next: encryption.ts, then sweep.ts.
 */
import { randomBytes } from "node:crypto";
import type { Log } from "../ops/log.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import { createBudget } from "../shares/budget.ts";
import { keyBytes, openPieces, pieceBytes, piecesIn, sealedBytes, sealedRange, sealPieces } from "./encryption.ts";
import { createStanding, type StandingState } from "./mark.ts";
import { type ObjectPlace, objectName } from "./rules/name.ts";
import type { Content, S3 } from "./s3.ts";
import type { ObjectRef } from "./store/objects.ts";
import { isOfOneObject, ObjectLost, StoreError, type StoreOutageKind, storeOutages } from "./store-error.ts";

export type ContentStore = {
  /** Content of more than this goes to the store. */
  readonly aboveBytes: number;
  /** Stores content under a new name. Rejects with a StoreError: then nothing that the caller commits may refer to it. */
  put(workspaceId: string, content: Content, signal?: AbortSignal): Promise<ObjectRef>;
  /** The content in order, a few pieces in memory at a time. Rejects with a StoreError or, if the content is gone, with ObjectLost. */
  read(workspaceId: string, ref: ObjectRef, signal?: AbortSignal): AsyncGenerator<Buffer>;
  /** The octets from `start` up to `end`. */
  readRange(
    workspaceId: string,
    ref: ObjectRef,
    range: { start: number; end: number },
    signal?: AbortSignal,
  ): AsyncGenerator<Buffer>;
  /** Deletes objects, if the mark allows it. */
  delete(places: readonly ObjectPlace[], signal?: AbortSignal): Promise<Deletion>;
  standing: StandingState;
  s3: S3;
  /** What is wrong with the store; undefined if it works. */
  problem(): StoreProblem | undefined;
  /** Failed requests so far, by state. */
  failures(): ReadonlyMap<string, number>;
  /** Asks the store now. */
  check(): Promise<StoreProblem | undefined>;
  start(): void;
  stop(): Promise<void>;
};

/** `failure`: why the objects that are not among `gone` were not deleted. Undefined if all were, or if the mark does not allow it. */
export type Deletion = { gone: ObjectPlace[]; isAllowed: boolean; failure: Error | undefined };

export type StoreProblem = { kind: StoreOutageKind; sinceMs: number };

export type ContentStoreDeps = {
  s3: S3;
  sql: Sql;
  secrets: Pick<Secrets, "seal" | "open">;
  log: Log;
  nowMs(): number;
  aboveBytes: number;
  /** Between two checks of a store that does not serve, and of one that does. */
  checkEveryMs?: { away: number; well: number };
};

/** The store answers, so another request may succeed: a smaller upload, a read, a deletion that makes room. */
const passing: ReadonlySet<StoreOutageKind> = new Set(["full", "rejected"]);
/** Of all workspaces together. One workspace gets at most three quarters, and less while others use the store. */
const uploadsAtOnce = 12;
const readsAtOnce = 24;
const deletesAtOnce = 8;
/** Read in one request. A receiver may be slow, so no request stays open while its content is sent. */
const windowPieces = 8;

export function createContentStore(deps: ContentStoreDeps): ContentStore {
  const { s3, sql, secrets, log, nowMs, aboveBytes, checkEveryMs = { away: 5_000, well: 60_000 } } = deps;
  const standing = createStanding({ s3, sql });
  const uploads = createBudget({ total: uploadsAtOnce, factor: 3 });
  const reads = createBudget({ total: readsAtOnce, factor: 3 });
  const counts = new Map<string, number>();
  const stopping = new AbortController();
  let problem: StoreProblem | undefined;
  let checking: Promise<StoreProblem | undefined> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let started = false;

  function note(error: unknown): void {
    if (!(error instanceof StoreError)) return;
    const { kind } = error;
    const { state, fix } = storeOutages[kind];
    count(kind);
    if (problem?.kind !== kind)
      log.warn({ state, reason: error.message, fix }, "the object storage does not serve: large content waits");
    problem = { kind, sinceMs: problem?.sinceMs ?? performance.now() };
    checkLater();
  }

  function count(kind: StoreOutageKind): void {
    const { state } = storeOutages[kind];
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }

  function noteUndeleted(error: unknown): void {
    if (!isOfOneObject(error)) return note(error);
    count(error.kind);
    log.warn({ reason: error.message }, "objects that are no longer used stay in the object storage");
  }

  function recovered(): void {
    if (!problem) return;
    log.info(
      { afterSeconds: Math.round((performance.now() - problem.sinceMs) / 1000) },
      "the object storage serves again",
    );
    problem = undefined;
  }

  /** All callers share one check. */
  function check(): Promise<StoreProblem | undefined> {
    const late = AbortSignal.timeout(10_000);
    checking ??= standing
      .check(AbortSignal.any([stopping.signal, late]))
      .then(recovered, (error) => {
        if (!stopping.signal.aborted) note(late.aborted ? asTimeout(error) : error);
      })
      .then(() => problem)
      .finally(() => {
        checking = undefined;
        checkLater();
      });
    return checking;
  }

  function checkLater(): void {
    if (!started || stopping.signal.aborted) return;
    clearTimeout(timer);
    timer = setTimeout(() => void check().catch(() => {}), problem ? checkEveryMs.away : checkEveryMs.well);
    timer.unref();
  }

  /** While the store does not serve, calls fail at once instead of waiting for its time-outs. */
  function requireStore(): void {
    if (problem && !passing.has(problem.kind))
      throw new StoreError(problem.kind, `the object storage does not serve: ${storeOutages[problem.kind].state}`);
  }

  async function noting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      note(error);
      throw error;
    }
  }

  async function* readPieces(
    workspaceId: string,
    ref: ObjectRef,
    range: { first: number; end: number },
    signal?: AbortSignal,
  ) {
    const name = objectName(ref);
    const { bytes } = ref;
    const key = Buffer.from(secrets.open(ref.keySealed, keyContext(ref.id)), "base64");
    for (let first = range.first; first < range.end; first += windowPieces) {
      const window = { first, end: Math.min(first + windowPieces, range.end) };
      requireStore();
      const sealed = await reads.run(
        workspaceId,
        () => noting(() => s3.get(name, sealedRange(bytes, window), signal).catch(verifyLoss)),
        signal,
      );
      yield* openPieces({ name, key }, { bytes, first, sealed });
    }
  }

  /** An object is lost only if this is still the right store. */
  async function verifyLoss(error: unknown): Promise<never> {
    if (error instanceof ObjectLost) await standing.check();
    throw error;
  }

  return {
    aboveBytes,
    standing,
    s3,
    async put(workspaceId, { bytes, chunks }, signal) {
      requireStore();
      return await uploads.run(
        workspaceId,
        async () => {
          const { line } = await noting(() => standing.requireUse(signal));
          const id = makeUuid(nowMs());
          const key = randomBytes(keyBytes);
          const name = objectName({ id, line });
          const sealed = {
            bytes: sealedBytes(bytes),
            chunks: () => sealPieces({ name, key }, { bytes, chunks: chunks() }),
          };
          await noting(() => s3.put(name, sealed, { signal }));
          return { id, line, bytes, keySealed: secrets.seal(key.toString("base64"), keyContext(id)) };
        },
        signal,
      );
    },
    read: (workspaceId, ref, signal) => readPieces(workspaceId, ref, { first: 0, end: piecesIn(ref.bytes) }, signal),
    async *readRange(workspaceId, ref, { start, end }, signal) {
      const first = Math.floor(start / pieceBytes);
      let at = first * pieceBytes;
      const pieces = readPieces(
        workspaceId,
        ref,
        { first, end: Math.max(first + 1, Math.ceil(end / pieceBytes)) },
        signal,
      );
      for await (const piece of pieces) {
        const some = piece.subarray(Math.max(0, start - at), Math.max(0, end - at));
        if (some.length > 0) yield some;
        at += piece.length;
      }
    },
    async delete(places, signal) {
      requireStore();
      if (!(await noting(() => standing.mayDelete(signal)))) return { gone: [], isAllowed: false, failure: undefined };
      const gone: ObjectPlace[] = [];
      const waiting = [...places];
      let failure: Error | undefined;
      const work = async () => {
        for (let place = waiting.shift(); place; place = waiting.shift()) {
          const name = objectName(place);
          try {
            await s3.delete(name, signal);
            gone.push(place);
          } catch (error) {
            // A failure that concerns all objects comes before one that concerns this object.
            if (!failure || isOfOneObject(failure)) failure = notDeleted(name, error);
            if (!isOfOneObject(error)) return;
          }
        }
      };
      await Promise.all(Array.from({ length: deletesAtOnce }, work));
      if (failure) noteUndeleted(failure);
      return { gone, isAllowed: true, failure };
    },
    problem: () => problem,
    failures: () => counts,
    check,
    start() {
      started = true;
      checkLater();
    },
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await checking?.catch(() => {});
      s3.close();
    },
  };
}

/** A sealed key that is copied to another object's row does not open. */
export function keyContext(id: string): string {
  return `content object ${id}`;
}

function notDeleted(name: string, error: unknown): Error {
  if (!(error instanceof StoreError)) return error as Error;
  return new StoreError(error.kind, `the object ${name} was not deleted: ${error.message}`, error);
}

/** The error of an aborted request, or of an aborted pause before its next try. */
function asTimeout(error: unknown): unknown {
  const isAbort = error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");
  return isAbort ? new StoreError("timeout", "the object store did not answer a check in time", error) : error;
}
