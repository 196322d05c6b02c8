/** The memory budget for email content, shared by all attempts of a node. Large emails have a separate budget, so that ordinary mail never
 * waits for them, and one destination can use at most half of it. It also holds smaller emails while they are read from object storage, which
 * may be slow. A workspace leaves a part of both budgets to others. */
import { type Budget, createBudget } from "../shares/budget.ts";

export type Reservation = {
  /** Call once the email is composed: sending takes less memory. May wait for other memory than the email had while it was read. */
  shrink(signal: AbortSignal): Promise<void>;
  release(): void;
};

export type Memory = {
  /** Waits until there is enough memory for the email. */
  reserve(email: ContentOwner, signal: AbortSignal): Promise<Reservation>;
  /** Whether an attempt waits. */
  contended(): boolean;
};

/** `streamedBytes`: the part of the size that is never in memory as a whole. `fromObjects`: some of it may be read from object storage. */
export type ContentOwner = {
  sizeBytes: number;
  streamedBytes: number;
  destination: string;
  workspaceId: string;
  fromObjects?: boolean;
};

/** The memory that one email takes, in copies of its content. */
const copies = { composing: 4, sending: 2 };
const minBytes = 16 * 1024;
/** What a message that is read while it is sent takes, whatever its size: pieces from the database and their base64. */
const windowBytes = 2 * 1024 * 1024;
const largeFromBytes = 1024 * 1024;
/** A single workspace can use seven eighths of a budget. */
const workspaceFactor = 7;

export function createMemory(total: { small: number; large: number }): Memory {
  const small = createBudget({ total: total.small, factor: workspaceFactor });
  const large = createBudget({ total: total.large, factor: workspaceFactor });
  const destinations = new Map<string, Budget>();

  function budgetOf(destination: string): Budget {
    const budget = destinations.get(destination) ?? createBudget({ total: total.large / 2 });
    destinations.set(destination, budget);
    return budget;
  }

  return {
    async reserve({ sizeBytes, streamedBytes, destination, workspaceId, fromObjects }, signal) {
      const window = streamedBytes === 0 ? 0 : windowBytes;
      const wholeBytes = sizeBytes - streamedBytes;
      const bytes = Math.max(minBytes, window + wholeBytes * copies.composing);
      const sending = window + wholeBytes * copies.sending;
      if (sizeBytes < largeFromBytes) {
        const ofSmall = (taken: number) =>
          createReservation({ bytes: taken, sending }, (released) => small.give(workspaceId, released));
        if (fromObjects) {
          await large.take(workspaceId, bytes, signal);
          const reading = createReservation({ bytes, sending: 0 }, (released) => large.give(workspaceId, released));
          return createChange(reading, async (until) => {
            await small.take(workspaceId, sending, until);
            return ofSmall(sending);
          });
        }
        await small.take(workspaceId, bytes, signal);
        return ofSmall(bytes);
      }
      const ofDestination = budgetOf(destination);
      const giveToDestination = (released: number) => {
        ofDestination.give(workspaceId, released);
        if (ofDestination.used() === 0) destinations.delete(destination);
      };
      await ofDestination.take(workspaceId, bytes, signal);
      try {
        await large.take(workspaceId, bytes, signal);
      } catch (error) {
        giveToDestination(bytes);
        throw error;
      }
      return createReservation({ bytes, sending }, (released) => {
        large.give(workspaceId, released);
        giveToDestination(released);
      });
    },
    contended: () => small.waiting() > 0 || large.waiting() > 0,
  };
}

function createReservation(
  { bytes, sending }: { bytes: number; sending: number },
  give: (bytes: number) => void,
): Reservation {
  let reserved = bytes;
  const reduceTo = (rest: number) => {
    if (reserved <= rest) return;
    give(reserved - rest);
    reserved = rest;
  };
  return {
    shrink: async () => reduceTo(sending),
    release: () => reduceTo(0),
  };
}

/** Shrinks to another reservation. */
function createChange(first: Reservation, next: (signal: AbortSignal) => Promise<Reservation>): Reservation {
  let current = first;
  return {
    async shrink(signal) {
      if (current !== first) return;
      current = await next(signal);
      first.release();
    },
    release: () => current.release(),
  };
}
