/** A list that is both: awaited it is its first page, iterated it is every entry of every page. */

export type List<T, P> = Promise<P> & AsyncIterable<T>;

/** `load` gets the page before and answers the next one, or undefined after the last. */
export function listPages<T, P extends { data: T[] }>(load: (previous?: P) => Promise<P> | undefined): List<T, P> {
  // The first page is asked for at once and serves both uses.
  const first = load()!;
  return Object.assign(first, { [Symbol.asyncIterator]: () => entries<T, P>(first, load) });
}

/** Pages that hand on a token, as all but the domains do. */
export function listByToken<T, P extends { data: T[]; nextPageToken: string }>(
  load: (pageToken: string | undefined) => Promise<P>,
): List<T, P> {
  return listPages<T, P>((previous) =>
    previous && !previous.nextPageToken ? undefined : load(previous?.nextPageToken),
  );
}

/** Pages that are counted, as those of the domains. */
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
    // An entry added meanwhile pushes another one onto the next page: it is not shown twice.
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
