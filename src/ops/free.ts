/** Gives large memory back at once. The collector lets octets lie until it has something to do, which is up to 64 MiB later. */

const worthIt = 64 * 1024;

/** Only for octets that nobody reads any more, and only where they have their memory to themselves. */
export function freeNow(bytes: Uint8Array): void {
  const { buffer, byteLength } = bytes;
  if (byteLength >= worthIt && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
