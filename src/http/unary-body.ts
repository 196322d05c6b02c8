/** Reads the body of a request for unary-json.ts. Node enforces its declared length. */
import { Code, ConnectError } from "@connectrpc/connect";
import { freeNow } from "../ops/free.ts";
import type { Cancellation } from "./call.ts";
import type { Request } from "./server.ts";
import { watchSpeed } from "./slow-body.ts";

/** Reads a small body, whose memory is not counted. */
export async function readBody(request: Request, cancellation: Cancellation): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  await readChunks(request, cancellation, (chunk) => chunks.push(chunk)).ended;
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** Reads a large body into one buffer, so that it is in memory only once. A body that arrives too slowly is an error. */
export async function readLargeBody(request: Request, length: number, cancellation: Cancellation): Promise<Uint8Array> {
  const body = Buffer.allocUnsafeSlow(length);
  let at = 0;
  const reading = readChunks(request, cancellation, (chunk) => {
    at += chunk.copy(body, at);
    watch.received(chunk.length);
    freeNow(chunk);
  });
  const watch = watchSpeed(reading.giveUp);
  try {
    await reading.ended;
  } finally {
    watch.stop();
  }
  return body.subarray(0, at);
}

type Reading = {
  ended: Promise<void>;
  /** Pauses the request and drops its listeners. */
  giveUp(reason: unknown): void;
};

/** Reads until the body ends or the call is canceled. */
function readChunks(request: Request, cancellation: Cancellation, take: (chunk: Buffer) => void): Reading {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const finish = (act: () => void) => {
    unsubscribe();
    request.off("data", take).off("end", onEnd).off("close", onBroken).off("error", onBroken);
    act();
  };
  const onEnd = () => finish(resolve);
  const onBroken = () =>
    finish(() => reject(new ConnectError("the request ended before its body was complete", Code.Canceled)));
  const giveUp = (reason: unknown) => {
    request.pause();
    finish(() => reject(reason));
  };
  const unsubscribe = cancellation.onCancel(() => giveUp(cancellation.reason()));
  request.on("data", take).on("end", onEnd).on("close", onBroken).on("error", onBroken);
  return { ended: promise, giveUp };
}
