/** The memory budget for request bodies, and the handling of bodies that are not read. Many large requests at once are refused with a retry
 * delay; small requests are not affected. Only authenticated callers get memory. Used by dispatch.ts, unary-json.ts and router.ts. */
import { AsyncLocalStorage } from "node:async_hooks";
import { createContextKey } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { Problem } from "../ops/problem.ts";
import { createBudget } from "../shares/budget.ts";
import { onlyProcess, partOf } from "../shares/process-part.ts";
import { deadlinePassed } from "./call.ts";
import { fromProblem } from "./errors.ts";
import { lingerMs, type Request, type Response } from "./server.ts";
import { type BodyWatch, watchSpeed } from "./slow-body.ts";

/** Bodies up to this size are not counted. */
const uncountedBytes = 64 * 1024;
/** Bodies up to this size have a budget of their own, so that large ones cannot keep ordinary mail out. */
const smallBytes = 1024 * 1024;
const smallTotal = 64 * 1024 * 1024;
const retryAfterMs = 2_000;
/** Node reads and drops a remaining body up to this size. A larger one closes the connection. */
const maxDroppedBytes = 64 * 1024;

export type BodySize = { declaredBytes: number | undefined; compressed: boolean };

/** The memory of one request's body. */
export type BodyReservation = {
  /** Called when the gate has admitted the caller: reserves the declared size, or throws `resource_exhausted`. */
  reserve(owner: string): void;
  /** The body, counted chunk by chunk if its length was not declared. A body that arrives too slowly ends with an error. */
  metered(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Runs the call so that the decompressed size of its body is counted too. */
  run<T>(call: () => T): T;
  release(): void;
};

export type BodyMemory = {
  /** Undefined for a request that is too small to count. `onRefused` is called when the budget runs out in the middle of a body. */
  track(size: BodySize, onRefused: () => void): BodyReservation | undefined;
  usedBytes(): number;
};

export const bodyReservationKey = createContextKey<BodyReservation | undefined>(undefined, {
  description: "memory for the body",
});

const current = new AsyncLocalStorage<{ grow(bytes: number): void }>();

export function createBodyMemory(totalBytes: number, part = onlyProcess): BodyMemory {
  const small = createBudget({ total: partOf(smallTotal, part), factor: 1 });
  const large = createBudget({ total: partOf(totalBytes, part), factor: 1 });

  function open(request: BodySize, onRefused: () => void): BodyReservation {
    let owner = "";
    let size = 0;
    let inLarge = 0;
    let inSmall = 0;

    function takeLarge(bytes: number): boolean {
      if (!large.tryTake(owner, bytes)) return false;
      inLarge += bytes;
      return true;
    }

    function takeSmall(bytes: number): boolean {
      if (!small.tryTake(owner, bytes)) return false;
      inSmall += bytes;
      return true;
    }

    /** A body that grows past the small size moves to the large budget as a whole. */
    function grow(bytes: number): void {
      const isLarge = size + bytes > smallBytes;
      const taken = isLarge ? takeLarge(bytes + inSmall) : takeSmall(bytes);
      if (!taken) throw exhausted();
      size += bytes;
      if (isLarge) giveSmall();
    }

    function giveSmall(): void {
      small.give(owner, inSmall);
      inSmall = 0;
    }

    function growOrRefuse(bytes: number): void {
      try {
        grow(bytes);
      } catch (error) {
        onRefused();
        throw fromProblem(error as Problem);
      }
    }

    return {
      reserve(caller) {
        owner = caller;
        if (request.declaredBytes !== undefined) grow(request.declaredBytes);
      },
      // The HTTP server enforces a declared length.
      metered: (body) => paced(request.declaredBytes === undefined ? counted(body, growOrRefuse) : body, onRefused),
      run: (call) => (request.compressed ? current.run({ grow: growOrRefuse }, call) : call()),
      release() {
        giveSmall();
        large.give(owner, inLarge);
        inLarge = 0;
      },
    };
  }

  return {
    track(size, onRefused) {
      if (!size.compressed && (size.declaredBytes ?? Number.POSITIVE_INFINITY) <= uncountedBytes) return undefined;
      return open(size, onRefused);
    },
    usedBytes: () => small.used() + large.used(),
  };
}

/** Counts decompressed bytes for the call in progress: a small request may decompress to a large one. */
export function countDecompressed(compression: Compression): Compression {
  return {
    ...compression,
    async decompress(bytes, readMaxBytes) {
      const decompressed = await compression.decompress(bytes, readMaxBytes);
      current.getStore()?.grow(decompressed.length);
      return decompressed;
    },
  };
}

async function* counted(body: AsyncIterable<Uint8Array>, grow: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    grow(chunk.length);
    yield chunk;
  }
}

/** Ends the body with an error when the caller's deadline passes: Connect's own deadline ends only the handler. */
export function bodyInTime(
  body: AsyncIterable<Uint8Array>,
  deadlineMs: number,
  onLate: () => void,
): AsyncIterable<Uint8Array> {
  return Number.isFinite(deadlineMs) ? readInTime(body, deadlineMs, onLate) : body;
}

function readInTime(body: AsyncIterable<Uint8Array>, deadlineMs: number, onLate: () => void) {
  return interruptible(body, (interrupt) => {
    const expire = () => {
      onLate();
      interrupt(deadlinePassed());
    };
    const timer = setTimeout(expire, deadlineMs - performance.now());
    return { received() {}, stop: () => clearTimeout(timer) };
  });
}

/** Ends the body with an error when it arrives too slowly. */
function paced(body: AsyncIterable<Uint8Array>, onSlow: () => void): AsyncIterable<Uint8Array> {
  return interruptible(body, (interrupt) =>
    watchSpeed((problem) => {
      onSlow();
      interrupt(problem);
    }),
  );
}

/** The body, which ends with an error when the watch interrupts it. */
async function* interruptible(
  body: AsyncIterable<Uint8Array>,
  watch: (interrupt: (problem: Problem) => void) => BodyWatch,
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  const interrupted = Promise.withResolvers<never>();
  interrupted.promise.catch(() => {});
  const watching = watch((problem) => interrupted.reject(fromProblem(problem)));
  try {
    for (;;) {
      // The iterator is not closed at an interruption: that would close the connection before the error is sent.
      const chunk = await Promise.race([chunks.next(), interrupted.promise]);
      if (chunk.done) return;
      watching.received(chunk.value.length);
      yield chunk.value;
    }
  } finally {
    watching.stop();
  }
}

function exhausted(): Problem {
  return new Problem(
    "resource_exhausted",
    "Too many large requests are in progress, and the memory for them is used up. Nothing was stored. Retry shortly, with fewer large attachments at once.",
    { retryAfterMs },
  );
}

/** Waits for the rest of a small body before the response ends. A client that is still writing when the connection or HTTP/2 stream closes
 * would lose the response to the reset. */
export async function dropRest(request: Request): Promise<void> {
  if (request.complete || request.destroyed) return;
  if (Number(request.headers["content-length"] ?? 0) > maxDroppedBytes) return;
  await new Promise<void>((resolve) => {
    let seen = 0;
    const timer = setTimeout(resolve, lingerMs);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    request.on("data", (chunk: Buffer) => {
      seen += chunk.length;
      if (seen > maxDroppedBytes) done();
    });
    request.once("end", done).once("close", done);
  });
}

/** Closes the connection after a response to a request with an unread body: otherwise the client could keep sending forever. */
export function closeAfterUnreadBody(request: Request, response: Response): void {
  if (request.complete || "stream" in request) return;
  if (Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY) <= maxDroppedBytes) return;
  response.setHeader("connection", "close");
  // Read from the response and before it ends: a request whose body was abandoned no longer has its socket.
  const { socket } = response;
  response.once("finish", () => setTimeout(() => socket?.destroy(), lingerMs).unref());
}
