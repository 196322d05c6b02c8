/** Bytes that arrive in pieces. */

/** A ReadableStream is not async-iterable in every browser. `watch` is told when a read begins and when it is over. */
export async function* chunksOf(
  body: ReadableStream<Uint8Array>,
  watch?: { listen(): void; rest(): void },
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      watch?.listen();
      const { done, value } = await reader.read();
      watch?.rest();
      if (done) return;
      yield value;
    }
  } finally {
    // Lets the sender stop when the reader leaves early; after the end, or an abort, it does nothing.
    reader.cancel().catch(() => {});
  }
}

export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
