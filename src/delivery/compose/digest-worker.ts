/** The entry point of the digest thread, started by digests.ts. It computes the body hashes of several messages at once. */
import { parentPort } from "node:worker_threads";
import { freeNow } from "../../ops/free.ts";
import { type BodyChunk, BodyDigest } from "./body-digest.ts";

/** `end`: the body is complete. `drop`: the hash is not needed. */
export type DigestCommand = { id: number } & ({ chunk: BodyChunk } | { end: true } | { drop: true });
/** Without a hash: a chunk was added. */
export type DigestAnswer = { id: number; hash?: string };

const digests = new Map<number, BodyDigest>();

parentPort?.on("message", (command: DigestCommand) => {
  const { id } = command;
  const digest = digests.get(id) ?? new BodyDigest();
  if ("chunk" in command) {
    digests.set(id, digest);
    digest.add(command.chunk);
    freeNow(command.chunk.bytes);
    parentPort!.postMessage({ id } satisfies DigestAnswer);
    return;
  }
  digests.delete(id);
  if ("end" in command) parentPort!.postMessage({ id, hash: digest.digest() } satisfies DigestAnswer);
});
