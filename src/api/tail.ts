/** The newest events of one log, kept in memory for the streams that are up to date. Bounded by count and by size. */
import type { StoredEvent } from "../store/events.ts";

export type Tail = {
  head(): bigint;
  /** The events after a number; undefined when some of them are no longer kept. */
  after(number: bigint): readonly StoredEvent[] | undefined;
  /** False for an event that is here already. */
  add(event: StoredEvent): boolean;
};

const keptEvents = 512;
const keptCharacters = 1024 * 1024;

export function createTail(last: bigint): Tail {
  let head = last;
  let kept: { event: StoredEvent; weight: number }[] = [];
  let weight = 0;
  return {
    head: () => head,
    after(number) {
      const first = head - BigInt(kept.length);
      return number < first ? undefined : kept.slice(Number(number - first)).map(({ event }) => event);
    },
    add(event) {
      const number = BigInt(event.number);
      if (number <= head) return false;
      // The log was cut at its old end before we got that far: whoever needs what is missing is told by the store.
      if (number !== head + 1n) {
        kept = [];
        weight = 0;
      }
      head = number;
      kept.push({ event, weight: weightOf(event) });
      weight += kept.at(-1)!.weight;
      let gone = 0;
      while (kept.length - gone > keptEvents || weight > keptCharacters) weight -= kept[gone++]!.weight;
      if (gone > 0) kept.splice(0, gone);
      return true;
    },
  };
}

/** Roughly: the texts of inbound mail are what makes an event large. */
function weightOf({ payload }: StoredEvent): number {
  return Object.values(payload).reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? value.length : 50),
    300,
  );
}
