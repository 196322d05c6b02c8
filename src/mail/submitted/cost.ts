/** Whether a submitted message is prepared at once, or in a thread. Used by submission/policy.ts. */
import { isAscii } from "node:buffer";
import { headOf } from "../message/limits.ts";

/** Preparing so many octets blocks the event loop for less than a millisecond, unless they are expensive. */
const inlineBytes = 64 * 1024;
/** Encoding reads the headers of parts. */
const inlineEncodedBytes = 16 * 1024;
/** An address list of 60 KiB takes up to a second to read. */
const inlineHeaderBytes = 8 * 1024;
/** A part takes 0.2 ms. A message with files has a few. */
const inlineParts = 20;

export function isCheap(raw: Buffer): boolean {
  if (raw.length > (isAscii(raw) ? inlineBytes : inlineEncodedBytes)) return false;
  return headOf(raw).length <= inlineHeaderBytes && !hasManyParts(raw);
}

/** Each part begins with such a line. */
function hasManyParts(raw: Buffer): boolean {
  let count = 0;
  for (let at = raw.indexOf(lineWithDashes); at >= 0; at = raw.indexOf(lineWithDashes, at + 1)) {
    count += 1;
    if (count > inlineParts) return true;
  }
  return false;
}

const lineWithDashes = Buffer.from("\n--");
