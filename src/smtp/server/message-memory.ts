/** The memory for messages that arrive, shared between the networks of their senders. When it is short, a slow message of the sender that holds
 * the most is dropped for a sender that holds less. Created by app/assemble/inbound.ts, used by receiving.ts. */
import { createBudget } from "../../shares/budget.ts";

export type MessageMemoryOptions = {
  bytes: number;
  /** The first octets of each message need no share, so that a small message always finds memory. The number of sessions limits them. */
  unsharedBytes: number;
  /** A sender may hold this many times the memory that is free: with 1, a single one gets half. */
  factor: number;
  /** Called when a message is dropped for another sender. */
  onGiveWay?(): void;
  /** Called when a message gives memory back. */
  onRelease?(bytes: number): void;
};

/** A message that arrives. */
export type Arriving = {
  /** Octets per second, lately; undefined once it is complete. */
  rate(): number | undefined;
  /** The message is dropped. Its memory is free afterwards. */
  giveWay(): void;
};

export type MessageMemory = {
  open(owner: string, arriving: Arriving): Reserved;
  used(): number;
};

export type Reserved = {
  /** False when the sender has used up its share. */
  reserve(bytes: number): boolean;
  release(): void;
};

/** Only a message that arrives more slowly than this is dropped: the others end soon. */
const slowBytesPerSecond = 64 * 1024;

type Holding = { owner: string; arriving: Arriving; shared: number; release(): void };

export function createMessageMemory(options: MessageMemoryOptions): MessageMemory {
  const budget = createBudget({ total: options.bytes, factor: options.factor });
  const holdings = new Set<Holding>();

  /** The slowest message of the sender that holds most, among those that hold more than this one would. */
  function victimFor(owner: string, bytes: number): Holding | undefined {
    const least = budget.heldBy(owner) + bytes;
    let victim: { holding: Holding; held: number; rate: number } | undefined;
    for (const holding of holdings) {
      const held = budget.heldBy(holding.owner);
      const rate = holding.arriving.rate();
      if (holding.owner === owner || holding.shared === 0 || held <= least) continue;
      if (rate === undefined || rate >= slowBytesPerSecond) continue;
      if (!victim || held > victim.held || (held === victim.held && rate < victim.rate))
        victim = { holding, held, rate };
    }
    return victim?.holding;
  }

  function take(owner: string, bytes: number): boolean {
    while (!budget.tryTake(owner, bytes)) {
      const victim = victimFor(owner, bytes);
      if (!victim) return false;
      options.onGiveWay?.();
      victim.release();
      victim.arriving.giveWay();
    }
    return true;
  }

  return {
    open(owner, arriving) {
      let unshared = 0;
      const holding: Holding = {
        owner,
        arriving,
        shared: 0,
        release() {
          if (!holdings.delete(holding) || holding.shared === 0) return;
          budget.give(owner, holding.shared);
          options.onRelease?.(holding.shared);
          holding.shared = 0;
        },
      };
      holdings.add(holding);
      return {
        reserve(bytes) {
          if (!holdings.has(holding)) return false;
          const free = Math.min(bytes, options.unsharedBytes - unshared);
          unshared += free;
          if (bytes === free) return true;
          if (!take(owner, bytes - free)) return false;
          holding.shared += bytes - free;
          return true;
        },
        release: holding.release,
      };
    },
    used: budget.used,
  };
}
