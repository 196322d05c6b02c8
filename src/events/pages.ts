/** Keeps the pages that streams read for a moment, so that readers of the same part of a log share one statement and one encoding. Bounded
 * in bytes, in total and for each workspace. Called by catch-up.ts. */
import { createPage, type Page } from "./page.ts";
import type { Cuts } from "./rules.ts";
import { type StoredEvent, weightOf } from "./store.ts";

export type PageCache = {
  /** The page with this key, or the one that `read` returns. Calls with the same key share one read. */
  get(workspaceId: string, key: string, read: () => Promise<PageContent>): Promise<Page>;
  bytes(): number;
};

export type PageContent = { events: readonly StoredEvent[]; reached: bigint; cuts: Cuts };

export type PageCacheOptions = {
  maxBytes: number;
  maxWorkspaceBytes: number;
  /** Events do not change, but a database that was restored without a trace may have others under the same numbers. */
  maxAgeMs: number;
  onPage(how: "encoded" | "shared"): void;
};

type Entry = { page: Promise<Page>; bytes: number; readAtMs: number };
type Pages = { entries: Map<string, Entry>; bytes: number };

export function createPageCache(options: PageCacheOptions): PageCache {
  /** The workspace that was used last is the last one. The oldest page of each comes first. */
  const workspaces = new Map<string, Pages>();
  let total = 0;
  let sweeping = false;

  function drop(workspaceId: string, pages: Pages, key: string): void {
    const entry = pages.entries.get(key);
    if (!entry) return;
    pages.entries.delete(key);
    pages.bytes -= entry.bytes;
    total -= entry.bytes;
    if (pages.entries.size === 0 && workspaces.get(workspaceId) === pages) workspaces.delete(workspaceId);
  }

  function grow(workspaceId: string, pages: Pages, key: string, entry: Entry, bytes: number): void {
    // Dropped meanwhile: only the streams that send the page keep it.
    if (pages.entries.get(key) !== entry) return;
    entry.bytes += bytes;
    pages.bytes += bytes;
    total += bytes;
    while (pages.bytes > options.maxWorkspaceBytes) drop(workspaceId, pages, firstKey(pages.entries));
    while (total > options.maxBytes) {
      const oldest = firstKey(workspaces);
      const of = workspaces.get(oldest)!;
      drop(oldest, of, firstKey(of.entries));
    }
    if (!sweeping) sweepLater();
  }

  function sweepLater(): void {
    sweeping = true;
    setTimeout(dropOld, options.maxAgeMs).unref();
  }

  function dropOld(): void {
    sweeping = false;
    const before = performance.now() - options.maxAgeMs;
    for (const [workspaceId, pages] of workspaces)
      for (const [key, entry] of pages.entries) if (entry.readAtMs <= before) drop(workspaceId, pages, key);
    if (workspaces.size > 0) sweepLater();
  }

  return {
    get(workspaceId, key, read) {
      const pages = workspaces.get(workspaceId) ?? { entries: new Map<string, Entry>(), bytes: 0 };
      workspaces.delete(workspaceId);
      workspaces.set(workspaceId, pages);
      const known = pages.entries.get(key);
      if (known && known.readAtMs > performance.now() - options.maxAgeMs) return known.page;
      drop(workspaceId, pages, key);
      workspaces.set(workspaceId, pages);
      const entry: Entry = { page: readPage(), bytes: 0, readAtMs: performance.now() };
      pages.entries.set(key, entry);
      // The error goes to the streams that wait for the page; the next one reads again.
      entry.page.catch(() => drop(workspaceId, pages, key));
      return entry.page;

      async function readPage(): Promise<Page> {
        const { events, reached, cuts } = await read();
        grow(
          workspaceId,
          pages,
          key,
          entry,
          events.reduce((sum, event) => sum + heapBytes(event), pageBytes),
        );
        return createPage({
          events,
          reached,
          cuts,
          onEncoded(bytes) {
            options.onPage("encoded");
            grow(workspaceId, pages, key, entry, bytes);
          },
          onShared: () => options.onPage("shared"),
        });
      }
    },
    bytes: () => total,
  };
}

/** The approximate memory of a page without its events. */
const pageBytes = 1024;

/** An event is in memory as a row and as a message of the contract, with two bytes for a character at most. */
function heapBytes(event: StoredEvent): number {
  return 4 * weightOf(event);
}

function firstKey(map: Map<string, unknown>): string {
  return map.keys().next().value!;
}
