/** The budget of event streams: how many statements, how much memory and how much of the event loop they may use. Readers that catch up wait
 * behind unary calls and take turns by workspace. Called by service.ts and follower.ts; app/assemble.ts creates one per node. */
import type { HeapRelief } from "../ops/heap-relief.ts";
import type { Metrics } from "../ops/metrics.ts";
import type { Sql } from "../postgres/pool.ts";
import { createBudget } from "../shares/budget.ts";
import type { LoopShare } from "../shares/loop-share.ts";
import type { EncodedPage, Page } from "./page.ts";
import { createPageCache, type PageContent } from "./pages.ts";
import { eventBoundsAndLastId, type LogBounds } from "./store.ts";

type BoundsAndLastId = LogBounds & { lastId: string | undefined };

export type CatchUp = {
  /** The range of the log. Streams of a workspace that open at the same time share one statement. */
  bounds(workspaceId: string): Promise<BoundsAndLastId>;
  /** Notes that a stream has ended. */
  closed(): void;
  /** The page with this key, read with `read` unless another stream read it a moment ago. */
  page(workspaceId: string, key: string, read: () => Promise<PageContent>): Promise<Page>;
  /** A short read for a stream that opens, under the same limit of statements. */
  read<T>(workspaceId: string, read: () => Promise<T>): Promise<T>;
  /** A page of events that are in memory already. */
  pageInMemory(workspaceId: string, key: string, content: PageContent): Promise<Page>;
  /** Resolves when the stream may write, to a function that must be called when its client has taken the bytes. */
  turn(workspaceId: string, kind: "live" | "catching up"): Promise<() => void>;
  /** Resolves when events may be pushed to some live streams. */
  pushTurn(workspaceId: string, kind: "live" | "catching up"): Promise<void>;
  /** Counts the page until the returned function is called. Undefined: the clients of the workspace have not taken too many pages already. */
  keep(workspaceId: string, page: EncodedPage): (() => void) | undefined;
  /** The part of a page that the stream may keep in memory until its client has taken it. */
  hold(workspaceId: string, page: EncodedPage, from: number): PagePiece;
};

export type PagePiece = {
  bytes: Uint8Array;
  /** The index after the last message. */
  end: number;
  /** Must be called when the client has taken the bytes. */
  release(): void;
};

const limits = {
  /** Of the budget's connections, 10 by default. */
  statements: 2,
  /** Streams that catch up and whose client has not taken the last bytes. */
  writes: 32,
  /** A slow client makes others wait no longer than this. */
  writeMs: 50,
  cacheBytes: 32 * 1024 * 1024,
  cacheWorkspaceBytes: 16 * 1024 * 1024,
  cacheMs: 10_000,
  /** Pages that clients of one workspace have not taken. Each page counts once, however many streams send it. */
  heldWorkspaceBytes: 16 * 1024 * 1024,
  /** A stream of a workspace above that limit sends its pages in pieces of this size. */
  pieceBytes: 16 * 1024,
};

/** Measured with 1,000 readers: what an ended stream and a sent page leave in the heap. */
const garbageBytes = { stream: 64 * 1024, page: 8 * 1024 };

export type CatchUpDeps = { sql: Sql; loop: LoopShare; heap: HeapRelief; metrics?: Metrics };

export function createCatchUp({ sql, loop, heap, metrics }: CatchUpDeps): CatchUp {
  const statements = createBudget({ total: limits.statements });
  const writes = createBudget({ total: limits.writes });
  const cache = createPageCache({
    maxBytes: limits.cacheBytes,
    maxWorkspaceBytes: limits.cacheWorkspaceBytes,
    maxAgeMs: limits.cacheMs,
    onPage: (how) => metrics?.eventPages.inc({ how }),
  });
  /** Reads of bounds that have not started. */
  const queued = new Map<string, Promise<BoundsAndLastId>>();
  const held = createHeldBytes();

  return {
    bounds(workspaceId) {
      const waiting = queued.get(workspaceId);
      if (waiting) return waiting;
      const reading = statements.run(workspaceId, () => {
        // From now on a stream needs a statement that starts later: its client may know a newer event.
        queued.delete(workspaceId);
        return eventBoundsAndLastId(sql, workspaceId);
      });
      queued.set(workspaceId, reading);
      return reading;
    },
    closed: () => heap.note(garbageBytes.stream),
    page: (workspaceId, key, read) => cache.get(workspaceId, key, () => statements.run(workspaceId, read)),
    read: (workspaceId, read) => statements.run(workspaceId, read),
    pageInMemory: (workspaceId, key, content) => cache.get(workspaceId, key, async () => content),
    async turn(workspaceId, kind) {
      if (kind === "live") {
        await loop.turn(workspaceId, { urgent: true });
        return () => {};
      }
      heap.note(garbageBytes.page);
      const release = await writes.place(workspaceId);
      const late = setTimeout(release, limits.writeMs).unref();
      await loop.turn(workspaceId);
      return () => {
        clearTimeout(late);
        release();
      };
    },
    pushTurn: (workspaceId, kind) => loop.turn(workspaceId, { urgent: kind === "live" }),
    keep: (workspaceId, page) => (held.fits(workspaceId, page) ? held.take(workspaceId, page) : undefined),
    hold(workspaceId, page, from) {
      const { bytes, offsets } = page;
      const all = { bytes: bytes.subarray(offsets[from]), end: offsets.length - 1 };
      if (held.fits(workspaceId, page)) return { ...all, release: held.take(workspaceId, page) };
      let end = from + 1;
      while (end < all.end && offsets[end + 1]! - offsets[from]! <= limits.pieceBytes) end++;
      // A copy, because a view would keep the whole page in memory.
      const piece = Uint8Array.from(bytes.subarray(offsets[from], offsets[end]));
      return { bytes: piece, end, release() {} };
    },
  };
}

/** Counts the pages that clients have not taken, each page once. */
function createHeldBytes() {
  const byWorkspace = new Map<string, number>();
  const holders = new Map<EncodedPage, number>();

  function add(workspaceId: string, bytes: number): void {
    const now = (byWorkspace.get(workspaceId) ?? 0) + bytes;
    if (now === 0) byWorkspace.delete(workspaceId);
    else byWorkspace.set(workspaceId, now);
  }

  return {
    fits(workspaceId: string, page: EncodedPage): boolean {
      if (holders.has(page)) return true;
      return (byWorkspace.get(workspaceId) ?? 0) + page.bytes.length <= limits.heldWorkspaceBytes;
    },
    take(workspaceId: string, page: EncodedPage): () => void {
      const others = holders.get(page) ?? 0;
      holders.set(page, others + 1);
      if (others === 0) add(workspaceId, page.bytes.length);
      let released = false;
      return () => {
        if (released) return;
        released = true;
        const left = holders.get(page)! - 1;
        if (left > 0) return void holders.set(page, left);
        holders.delete(page);
        add(workspaceId, -page.bytes.length);
      };
    },
  };
}
