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

/** Collects chunks in one buffer that doubles. An array of chunks would take a hundred times the memory if each had one byte. */
export function collectBytes(): { add(chunk: Uint8Array): void; joined(): Uint8Array<ArrayBuffer> } {
  let buffer = new Uint8Array(16_384);
  let length = 0;
  return {
    add(chunk) {
      if (length + chunk.length > buffer.length) {
        const larger = new Uint8Array(Math.max(buffer.length * 2, length + chunk.length));
        larger.set(buffer.subarray(0, length));
        buffer = larger;
      }
      buffer.set(chunk, length);
      length += chunk.length;
    },
    joined: () => buffer.subarray(0, length),
  };
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
