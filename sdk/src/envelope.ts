/** Encodes and decodes the frames of a Connect stream: one byte of flags, four bytes of length, the message. */
import { joinBytes } from "./bytes.ts";
import { PosthornError } from "./error.ts";

export interface Envelope {
  isCompressed: boolean;
  /** True for the last frame, which has the result of the stream instead of a message. */
  isEnd: boolean;
  text: string;
}

const headBytes = 5;
const compressedFlag = 0b01;
const endFlag = 0b10;

/** Far above the size of any event. A larger length means that the bytes are not an event stream. */
const maxMessageBytes = 128 * 1024 * 1024;

export function wrap(text: string): Uint8Array<ArrayBuffer> {
  const message = new TextEncoder().encode(text);
  const envelope = new Uint8Array(headBytes + message.length);
  new DataView(envelope.buffer).setUint32(1, message.length);
  envelope.set(message, headBytes);
  return envelope;
}

/** Returns a function that takes chunks of any size as they arrive and returns the envelopes that are complete. */
export function createUnwrapper(): (chunk: Uint8Array) => Envelope[] {
  let chunks: Uint8Array[] = [];
  let bufferedBytes = 0;
  let neededBytes = headBytes;
  return (chunk) => {
    chunks.push(chunk);
    bufferedBytes += chunk.length;
    const complete: Envelope[] = [];
    // Chunks are joined only once an envelope is complete. Joining at every chunk would copy a large message repeatedly.
    while (bufferedBytes >= neededBytes) {
      const bytes = chunks.length === 1 ? chunks[0]! : joinBytes(chunks);
      const end = headBytes + lengthOf(bytes);
      if (bufferedBytes < end) {
        neededBytes = end;
        chunks = [bytes];
        break;
      }
      const flags = bytes[0]!;
      complete.push({
        isCompressed: (flags & compressedFlag) !== 0,
        isEnd: (flags & endFlag) !== 0,
        text: new TextDecoder().decode(bytes.subarray(headBytes, end)),
      });
      chunks = [bytes.subarray(end)];
      bufferedBytes -= end;
      neededBytes = headBytes;
    }
    return complete;
  };
}

function lengthOf(bytes: Uint8Array): number {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
  if (length > maxMessageBytes)
    throw new PosthornError(
      "internal",
      `The stream announces a message of ${length} bytes; the maximum is ${maxMessageBytes}. Check baseUrl and any proxy in between.`,
    );
  return length;
}
