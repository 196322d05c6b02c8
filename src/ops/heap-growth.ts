/** How far the heap of V8 may grow before it is collected. Set when the program starts. */
import { setFlagsFromString } from "node:v8";

/**
 * To twice of what the last collection left, as long as that is far below the limit of the heap. V8's own limit was some MiB above it, and buffers outside
 * the heap count: each email with an attachment of 5 MiB led to a collection of the whole heap, which took a third of the program's CPU time.
 */
export function collectLessOften(): void {
  setFlagsFromString("--heap-growing-percent=100");
}
