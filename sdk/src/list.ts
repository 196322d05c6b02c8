/** Lists with pages. Awaiting a list returns its first page; iterating over it yields the entries of all pages. */

export type List<T, P> = Promise<P> & AsyncIterable<T>;

/** `load` gets the previous page and returns the next one, or undefined after the last. */
export function listPages<T, P extends { data: T[] }>(load: (previous?: P) => Promise<P> | undefined): List<T, P> {
  // The first page is requested immediately; both uses share it.
  const first = load()!;
  return Object.assign(first, { [Symbol.asyncIterator]: () => entries<T, P>(first, load) });
}

/** Pagination by token, which all lists except domains use. */
export function listByToken<T, P extends { data: T[]; nextPageToken: string }>(
  load: (pageToken: string | undefined) => Promise<P>,
): List<T, P> {
  return listPages<T, P>((previous) =>
    previous && !previous.nextPageToken ? undefined : load(previous?.nextPageToken),
  );
}

/** Pagination by page number, which only domains use. */
export function listByNumber<T extends { id: string }, P extends { data: T[]; total: number }>(
  firstPage: number,
  load: (page: number) => Promise<P>,
): List<T, P> {
  const start = Math.max(1, firstPage);
  const seen = new Set<string>();
  let pages = 0;
  let isLast = false;
  let pageLength = 0;
  const next = async (): Promise<P> => {
    const page = await load(start + pages);
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
  for (let page: P | undefined = await first; page; page = await load(page)) yield* page.data;
}
