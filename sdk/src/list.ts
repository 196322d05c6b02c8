/** Lists with pages. Awaiting a list returns its first page; iterating over it yields the entries of all pages. */
import { checkObject } from "./check.ts";
import { PosthornError } from "./error.ts";

export type List<T, P> = Promise<P> & AsyncIterable<T>;

/** `load` gets the previous page and returns the next one, or undefined after the last. */
export function listPages<T, P extends { data: T[] }>(load: (previous?: P) => Promise<P> | undefined): List<T, P> {
  // The first page is requested immediately; both uses share it. The function is async so that a wrong argument rejects the promise.
  const first = (async () => await load()!)();
  return Object.assign(first, { [Symbol.asyncIterator]: () => entries<T, P>(first, load) });
}

/** Pagination by token, which all lists except domains use. `load` gets `filter` with the token of the page. */
export function listByToken<F extends { pageToken?: string }, T, P extends { data: T[]; nextPageToken: string }>(
  filter: F,
  load: (filter: F) => Promise<P>,
): List<T, P> {
  return listPages<T, P>((previous) => {
    checkObject(filter, "filter");
    if (previous === undefined) return load(filter);
    return previous.nextPageToken ? load({ ...filter, pageToken: previous.nextPageToken }) : undefined;
  });
}

/** Pagination by page number, which only domains use. */
export function listByNumber<T extends { id: string }, P extends { data: T[]; total: number }>(
  filter: { page?: number; pageSize?: number },
  load: (filter: { page: number; pageSize?: number }) => Promise<P>,
): List<T, P> {
  let start = 1;
  const seen = new Set<string>();
  let pages = 0;
  let isLast = false;
  let pageLength = 0;
  const next = async (): Promise<P> => {
    checkObject(filter, "filter");
    start = Math.max(1, filter.page ?? 1);
    const page = await load({ ...filter, page: start + pages });
    if (!Array.isArray(page.data)) return page;
    pages += 1;
    pageLength ||= page.data.length;
    isLast = page.data.length === 0 || (start - 1 + pages) * pageLength >= page.total;
    // An entry added during iteration moves another one to the next page. That entry must not be yielded twice.
    const data = page.data.filter(({ id }) => !seen.has(id));
    for (const { id } of data) seen.add(id);
    return { ...page, data };
  };
  return listPages<T, P>(() => (isLast ? undefined : next()));
}

async function* entries<T, P extends { data: T[] }>(
  first: Promise<P>,
  load: (previous: P) => Promise<P> | undefined,
): AsyncGenerator<T, void, undefined> {
  for (let page: P | undefined = await first; page; page = await load(page)) {
    if (!Array.isArray(page.data))
      throw new PosthornError("unknown", "The response has no list. Check that baseUrl points to a Posthorn server.");
    yield* page.data;
  }
}
