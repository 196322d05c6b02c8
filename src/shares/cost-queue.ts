/** A queue that serves the owner whose items have cost least lately, in CPU time for example. Round robin counts items, which is unfair where
 * one item costs a thousand times another. The threads that read inbound mail use it (inbound/threads.ts). */

export type CostQueue<Item> = {
  add(owner: string, item: Item): void;
  /** The first item of the owner with the lowest recent cost. With `mayRun`, the first one of each owner for which it is true. */
  next(mayRun?: (item: Item) => boolean): Item | undefined;
  /** Removes an item that waits; false if it does not. */
  remove(owner: string, item: Item): boolean;
  /** Adds to the owner's recent cost. */
  charge(owner: string, cost: number): void;
  recentCost(owner: string): number;
  /** How many items of the owner wait. Without an owner, of all. */
  waiting(owner?: string): number;
};

export type CostQueueOptions = {
  /** The recent cost halves in this time. */
  halfLifeMs: number;
  nowMs?(): number;
};

/** Owners without waiting items are forgotten once their recent cost is below this. */
const negligible = 1;
/** The cost of idle owners is looked through again after so many charges. */
const chargesPerSweep = 1000;

export function createCostQueue<Item extends object | string>(options: CostQueueOptions): CostQueue<Item> {
  const { halfLifeMs, nowMs = () => performance.now() } = options;
  /** Owners that waited longer come first, which decides between equal costs. */
  const queues = new Map<string, Item[]>();
  const costs = new Map<string, { cost: number; atMs: number }>();
  let charges = 0;

  function recentCost(owner: string): number {
    const known = costs.get(owner);
    return known ? known.cost * 2 ** (-(nowMs() - known.atMs) / halfLifeMs) : 0;
  }

  function sweep(): void {
    charges = 0;
    for (const owner of costs.keys()) if (recentCost(owner) < negligible) costs.delete(owner);
  }

  function cheapest(mayRun: (item: Item) => boolean): { owner: string; item: Item } | undefined {
    let best: { owner: string; item: Item; cost: number } | undefined;
    for (const [owner, queue] of queues) {
      const cost = recentCost(owner);
      if (best && cost >= best.cost) continue;
      const item = queue.find(mayRun);
      if (item !== undefined) best = { owner, item, cost };
    }
    return best;
  }

  function remove(owner: string, item: Item): boolean {
    const queue = queues.get(owner);
    const at = queue?.indexOf(item) ?? -1;
    if (at < 0) return false;
    queue!.splice(at, 1);
    if (queue!.length === 0) queues.delete(owner);
    return true;
  }

  return {
    add(owner, item) {
      const queue = queues.get(owner);
      if (queue) queue.push(item);
      else queues.set(owner, [item]);
    },
    next(mayRun = () => true) {
      const found = cheapest(mayRun);
      if (!found) return undefined;
      const { owner, item } = found;
      remove(owner, item);
      // Behind the others, which decides between equal costs.
      const rest = queues.get(owner);
      queues.delete(owner);
      if (rest) queues.set(owner, rest);
      return item;
    },
    remove,
    charge(owner, cost) {
      costs.set(owner, { cost: recentCost(owner) + cost, atMs: nowMs() });
      charges += 1;
      if (charges >= chargesPerSweep) sweep();
    },
    recentCost,
    waiting: (owner) =>
      owner === undefined
        ? [...queues.values()].reduce((sum, { length }) => sum + length, 0)
        : (queues.get(owner)?.length ?? 0),
  };
}
