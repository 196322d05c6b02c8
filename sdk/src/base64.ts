/** Base64 encoding and decoding that works in browsers, edge workers and Node 20 and later. */
import { PosthornError } from "./error.ts";

interface NodeBuffer {
  from(bytes: ArrayBufferLike, offset: number, length: number): { toString(encoding: "base64"): string };
}

export function toBase64(bytes: Uint8Array): string {
  const { Buffer } = globalThis as { Buffer?: NodeBuffer };
  if (Buffer) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  let binary = "";
  // Encoded in slices, because the number of arguments of a call is limited.
  for (let i = 0; i < bytes.length; i += 0x8000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(binary);
}

/** Decodes a field of a response. */
export function contentOf(text: string): Uint8Array<ArrayBuffer> {
  try {
    return fromBase64(text);
  } catch (cause) {
    throw new PosthornError("internal", "The content in the response is not base64.", { cause });
  }
}

/** Decodes base64 and base64url, with or without padding. Throws on other input. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
