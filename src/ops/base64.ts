/** Provides `Uint8Array.prototype.toBase64` of ECMAScript 2026, which Node 24 lacks. Called by app/cli.ts before it loads a command. */

type Options = { alphabet?: "base64" | "base64url"; omitPadding?: boolean };

/**
 * protobuf-es writes the bytes of an answer with this method where it exists when the library is loaded. Without it, the library adds one
 * character at a time to a string: 27 MB of an attachment took 1.2 GB of memory.
 */
export function provideToBase64(): void {
  if ("toBase64" in Uint8Array.prototype) return;
  Object.defineProperty(Uint8Array.prototype, "toBase64", { value: toBase64, configurable: true, writable: true });
}

function toBase64(this: Uint8Array, { alphabet = "base64", omitPadding = false }: Options = {}): string {
  const bytes = Buffer.from(this.buffer, this.byteOffset, this.byteLength);
  // Node's base64url has no padding, which the standard's has unless it is omitted.
  const text = bytes.toString("base64");
  const padded = alphabet === "base64url" ? text.replaceAll("+", "-").replaceAll("/", "_") : text;
  return omitPadding ? padded.replace(/=+$/, "") : padded;
}
