/** Memory for content under way, shared by all attempts of a node: large emails wait in lines of their own, so that ordinary mail never
 * waits for them, and one slow destination cannot hold all of it. */
import { type Budget, createBudget } from "../ops/budget.ts";

export type Held = {
  /** The email is composed: from here on it takes less. */
  shrink(): void;
  release(): void;
};

export type Memory = { hold(email: { sizeBytes: number; destination: string }, signal: AbortSignal): Promise<Held> };

/** What one email costs, in copies of its content: while it is read and composed, and while it is sent. */
const copies = { composing: 4, sending: 2 };
const smallest = 16 * 1024;
const largeFrom = 1024 * 1024;

export function createMemory(total: { small: number; large: number }): Memory {
  const small = createBudget(total.small);
  const large = createBudget(total.large);
  const destinations = new Map<string, Budget>();

  function lineOf(destination: string): Budget {
    const line = destinations.get(destination) ?? createBudget(total.large / 2);
    destinations.set(destination, line);
    return line;
  }

  return {
    async hold({ sizeBytes, destination }, signal) {
      const bytes = Math.max(smallest, sizeBytes * copies.composing);
      if (sizeBytes < largeFrom) {
        await small.take(bytes, signal);
        return held(bytes, (given) => small.give(given));
      }
      const line = lineOf(destination);
      const leave = (given: number) => {
        line.give(given);
        if (line.used() === 0) destinations.delete(destination);
      };
      await line.take(bytes, signal);
      try {
        await large.take(bytes, signal);
      } catch (error) {
        leave(bytes);
        throw error;
      }
      return held(bytes, (given) => {
        large.give(given);
        leave(given);
      });
    },
  };
}

function held(bytes: number, give: (bytes: number) => void): Held {
  let left = bytes;
  const giveDownTo = (rest: number) => {
    if (left <= rest) return;
    give(left - rest);
    left = rest;
  };
  return {
    shrink: () => giveDownTo((bytes / copies.composing) * copies.sending),
    release: () => giveDownTo(0),
  };
}
