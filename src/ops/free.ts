/** Frees large buffers at once. V8 frees external buffers only at the next GC, up to 64 MiB of allocations later. */

/** Smaller buffers are not worth the call. */
const minBytes = 16 * 1024;

/** Call this only when no code reads the bytes any more. A view on a buffer with other content is left alone. */
export function freeNow(bytes: Uint8Array): void {
  const { buffer, byteLength } = bytes;
  if (byteLength >= minBytes && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
