/** Computes the DKIM body hash of a message whose large parts arrive in pieces. digest-worker.ts runs it in a thread. */
import { BodyHash } from "../../mail/body-hash.ts";
import { Base64Encoder } from "../../mail/mime/base64.ts";

/** Octets of the body, or octets that the body has in base64 lines. `endsFile`: the next octets in base64 are another file. */
export type BodyChunk = { bytes: Uint8Array; isBase64: boolean; endsFile: boolean };

export class BodyDigest {
  readonly #hash = new BodyHash();
  readonly #encoder = new Base64Encoder();

  add({ bytes, isBase64, endsFile }: BodyChunk): void {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!isBase64) return this.#hash.add(piece);
    for (const lines of this.#encoder.add(piece)) this.#hash.addPlainLines(lines);
    if (endsFile) for (const lines of this.#encoder.end()) this.#hash.addPlainLines(lines);
  }

  digest(): string {
    return this.#hash.digest();
  }
}
