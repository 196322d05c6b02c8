/** Which lists are read again by themselves: those of which few pages are loaded. This is cheap, and does not move entries while a person reads
 * further down. */

const maxLivePages = 2;

export function isLive(data: { pages: readonly unknown[] } | undefined): boolean {
  return (data?.pages.length ?? 0) <= maxLivePages;
}
