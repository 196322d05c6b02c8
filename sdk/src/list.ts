/** A list that is both: awaited it is its first page, iterated it is every entry of every page. */

export type List<T, P> = Promise<P> & AsyncIterable<T>;

/** `load` gets the page before and answers the next one, or undefined after the last. */
export function listPages<T, P extends { data: T[] }>(load: (previous?: P) => Promise<P> | undefined): List<T, P> {
  // The first page is asked for at once and serves both uses.
  const first = load()!;
  return Object.assign(first, { [Symbol.asyncIterator]: () => entries(first, load) });
}

/** Pages that hand on a token, as all but the domains do. */
export function listByToken<T, P extends { data: T[]; nextPageToken: string }>(
  load: (pageToken: string | undefined) => Promise<P>,
): List<T, P> {
  return listPages<T, P>((previous) =>
    previous && !previous.nextPageToken ? undefined : load(previous?.nextPageToken),
  );
}

async function* entries<T, P extends { data: T[] }>(
  first: Promise<P>,
  load: (previous: P) => Promise<P> | undefined,
): AsyncGenerator<T, void, undefined> {
  for (let page: P | undefined = await first; page; page = await load(page)) yield* page.data;
}
