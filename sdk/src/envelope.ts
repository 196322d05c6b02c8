/** The frames of a Connect stream: a byte of flags, the length in four bytes, the message. */
import { joinBytes } from "./bytes.ts";
import { PosthornError } from "./error.ts";

export interface Envelope {
  isCompressed: boolean;
  /** The last frame: no message, but how the stream ended. */
  isEnd: boolean;
  text: string;
}

const headBytes = 5;
const compressedFlag = 0b01;
const endFlag = 0b10;

/** No event comes near it: what claims more is no stream of events. */
const maxMessageBytes = 128 * 1024 * 1024;

export function wrap(text: string): Uint8Array<ArrayBuffer> {
  const message = new TextEncoder().encode(text);
  const envelope = new Uint8Array(headBytes + message.length);
  new DataView(envelope.buffer).setUint32(1, message.length);
  envelope.set(message, headBytes);
  return envelope;
}

/** Takes bytes as they arrive, in pieces of any size, and gives the envelopes that are complete. */
export function createUnwrapper(): (chunk: Uint8Array) => Envelope[] {
  let pieces: Uint8Array[] = [];
  let held = 0;
  let wanted = headBytes;
  return (chunk) => {
    pieces.push(chunk);
    held += chunk.length;
    const complete: Envelope[] = [];
    // Pieces are joined only when the envelope is whole: joining at each piece would copy a large one again and again.
    while (held >= wanted) {
      const bytes = pieces.length === 1 ? pieces[0]! : joinBytes(pieces);
      const end = headBytes + lengthOf(bytes);
      if (held < end) {
        wanted = end;
        pieces = [bytes];
        break;
      }
      const flags = bytes[0]!;
      complete.push({
        isCompressed: (flags & compressedFlag) !== 0,
        isEnd: (flags & endFlag) !== 0,
        text: new TextDecoder().decode(bytes.subarray(headBytes, end)),
      });
      pieces = [bytes.subarray(end)];
      held -= end;
      wanted = headBytes;
    }
    return complete;
  };
}

function lengthOf(bytes: Uint8Array): number {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
  if (length > maxMessageBytes)
    throw new PosthornError("internal", `The stream announces a message of ${length} bytes, which cannot be.`);
  return length;
}
