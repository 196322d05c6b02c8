/** Helpers for bytes that arrive in chunks: reading a stream, joining chunks. */

/** Iterates over a ReadableStream, which is not async-iterable in every browser. `idleTimer` runs while a read is pending. */
export async function* chunksOf(
  body: ReadableStream<Uint8Array>,
  idleTimer?: { restart(): void; pause(): void },
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      idleTimer?.restart();
      const { done, value } = await reader.read();
      idleTimer?.pause();
      if (done) return;
      yield value;
    }
  } finally {
    // Closes the connection when the consumer stops early. After the end or an abort it has no effect.
    reader.cancel().catch(() => {});
  }
}

export function joinBytes(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}
