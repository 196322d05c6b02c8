/** Collects the octets of a message as they arrive. Used by input.ts. Octets go into blocks, because a client may send them one by one, and
 * a Buffer of its own for each would take a hundred times their memory. */

export type Collector = {
  add(piece: Buffer): void;
  /** All octets in one Buffer. */
  take(): Buffer;
  drop(): void;
};

/** Most messages fit into the first block. */
const firstBlockBytes = 4 * 1024;
const largestBlockBytes = 64 * 1024;

export function createCollector(): Collector {
  let blocks: Buffer[] = [];
  let used = 0;

  function freeBytes(): number {
    const last = blocks.at(-1);
    return last ? last.length - used : 0;
  }

  return {
    add(piece) {
      for (let at = 0; at < piece.length; ) {
        if (freeBytes() === 0) {
          const bytes = Math.min(largestBlockBytes, (blocks.at(-1)?.length ?? firstBlockBytes / 4) * 4);
          blocks.push(Buffer.allocUnsafeSlow(bytes));
          used = 0;
        }
        const copied = piece.copy(blocks.at(-1)!, used, at);
        used += copied;
        at += copied;
      }
    },
    take() {
      const last = blocks.at(-1)?.subarray(0, used) ?? Buffer.alloc(0);
      const before = blocks.slice(0, -1);
      blocks = [];
      return before.length === 0 ? last : Buffer.concat([...before, last]);
    },
    drop() {
      blocks = [];
      used = 0;
    },
  };
}
