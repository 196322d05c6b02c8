/** Room for request bodies in memory: many large requests at once are refused with a time to come back, small ones never wait for them.
 * Only callers with a valid key hold any of it. Used by dispatch and unary-json (who comes in) and by the router's gate (who may stay). */
import { AsyncLocalStorage } from "node:async_hooks";
import { createContextKey } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { createBudget } from "../ops/budget.ts";
import { Problem } from "../rules/problem.ts";
import { fromProblem } from "./errors.ts";

/** Bodies up to this are not worth counting. */
const freeBytes = 64 * 1024;
/** Bodies up to this have room of their own, so that nobody's large ones keep ordinary mail out. */
const smallBytes = 1024 * 1024;
const smallTotal = 64 * 1024 * 1024;
const retryAfterMs = 2_000;

export type BodyHold = {
  /** The caller is known: takes what the request says it will send. */
  admit(workspaceId: string): void;
  /** The body as it comes, counted where nobody said how long it is. */
  metered(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Runs the call so that what its body unpacks to is counted as well. */
  run<T>(call: () => T): T;
  release(): void;
};

export type BodyRoom = {
  /** Undefined for a request that is too small to count. `refused` is told of a refusal in the middle of a body. */
  enter(request: { declaredBytes: number | undefined; packed: boolean }, refused: () => void): BodyHold | undefined;
  usedBytes(): number;
};

export const bodyHoldKey = createContextKey<BodyHold | undefined>(undefined, { description: "room for the body" });

const current = new AsyncLocalStorage<{ grow(bytes: number): void }>();

export function createBodyRoom(totalBytes: number): BodyRoom {
  const small = createBudget(smallTotal);
  const large = createBudget(totalBytes);
  /** One workspace may have half of the room for large bodies, or one body. */
  const share = totalBytes / 2;
  const byWorkspace = new Map<string, number>();

  function enter(request: { declaredBytes: number | undefined; packed: boolean }, refused: () => void): BodyHold {
    let owner = "";
    let size = 0;
    let inLarge = 0;
    let inSmall = 0;

    function takeLarge(bytes: number): boolean {
      const held = byWorkspace.get(owner) ?? 0;
      if (held > inLarge && held + bytes > share) return false;
      if (!large.tryTake(bytes)) return false;
      inLarge += bytes;
      byWorkspace.set(owner, held + bytes);
      return true;
    }

    function takeSmall(bytes: number): boolean {
      if (!small.tryTake(bytes)) return false;
      inSmall += bytes;
      return true;
    }

    /** A body that outgrows the small ones moves over with all that it has. */
    function grow(bytes: number): void {
      const moves = size + bytes > smallBytes;
      const done = moves ? takeLarge(bytes + inSmall) : takeSmall(bytes);
      if (!done) throw exhausted();
      size += bytes;
      if (moves) giveSmall();
    }

    function giveSmall(): void {
      small.give(inSmall);
      inSmall = 0;
    }

    function growOrRefuse(bytes: number): void {
      try {
        grow(bytes);
      } catch (error) {
        refused();
        throw fromProblem(error as Problem);
      }
    }

    return {
      admit(workspaceId) {
        owner = workspaceId;
        if (request.declaredBytes !== undefined) grow(request.declaredBytes);
      },
      // A length that was declared is held to by the HTTP server itself.
      metered: (body) => (request.declaredBytes === undefined ? counted(body, growOrRefuse) : body),
      run: (call) => (request.packed ? current.run({ grow: growOrRefuse }, call) : call()),
      release() {
        giveSmall();
        large.give(inLarge);
        const left = (byWorkspace.get(owner) ?? 0) - inLarge;
        if (left > 0) byWorkspace.set(owner, left);
        else byWorkspace.delete(owner);
        inLarge = 0;
      },
    };
  }

  return {
    enter(request, refused) {
      if (!request.packed && (request.declaredBytes ?? Number.POSITIVE_INFINITY) <= freeBytes) return undefined;
      return enter(request, refused);
    },
    usedBytes: () => small.used() + large.used(),
  };
}

/** A way of packing whose unpacked bytes count for the call that they belong to: a small request may unpack to a large one. */
export function countUnpacked(compression: Compression): Compression {
  return {
    ...compression,
    async decompress(bytes, readMaxBytes) {
      const unpacked = await compression.decompress(bytes, readMaxBytes);
      current.getStore()?.grow(unpacked.length);
      return unpacked;
    },
  };
}

async function* counted(body: AsyncIterable<Uint8Array>, grow: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    grow(chunk.length);
    yield chunk;
  }
}

function exhausted(): Problem {
  return new Problem(
    "resource_exhausted",
    "Too many large requests are under way at this moment, and the memory for them is used up. Nothing was stored; try again shortly, with fewer large attachments at once.",
    { retryAfterMs },
  );
}
