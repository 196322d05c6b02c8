/** A queue that serves owners in turn: an owner with a thousand items delays the one item of another owner by at most one item. Used by
 * loop-share.ts. */

export type RoundRobin<Item> = {
  add(owner: string, item: Item): void;
  /** The first item of the owner whose turn it is; undefined when the queue is empty. */
  next(): Item | undefined;
  size(): number;
};

export function createRoundRobin<Item>(): RoundRobin<Item> {
  /** In serving order. Lists are never empty. */
  const byOwner = new Map<string, { items: Item[]; at: number }>();
  let size = 0;
  return {
    add(owner, item) {
      const list = byOwner.get(owner);
      if (list) list.items.push(item);
      else byOwner.set(owner, { items: [item], at: 0 });
      size += 1;
    },
    next() {
      for (const [owner, list] of byOwner) {
        byOwner.delete(owner);
        const item = list.items[list.at++]!;
        size -= 1;
        // `shift` on a long list copies it, so the list is cut only now and then.
        if (list.at >= 1000) {
          list.items = list.items.slice(list.at);
          list.at = 0;
        }
        if (list.at < list.items.length) byOwner.set(owner, list);
        return item;
      }
      return undefined;
    },
    size: () => size,
  };
}
