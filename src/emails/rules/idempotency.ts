/** Idempotency keys: their format, which requests count as equal, and how long a key is kept. Called by accept.ts and accept-batch.ts. */
import { createHash } from "node:crypto";
import { invalid, Problem } from "../../ops/problem.ts";
import type { SendRequest } from "./request.ts";

const maxKeyLength = 256;
export const idempotencyKeptForMs = 86_400_000;

export function checkIdempotencyKey(key: string | undefined): void {
  if (key === undefined) return;
  if (key.length > maxKeyLength || !/^[\x20-\x7e]+$/.test(key)) {
    throw invalid([
      {
        field: "Idempotency-Key",
        description: `must be 1 to ${maxKeyLength} printable ASCII characters, has ${key.length}`,
      },
    ]);
  }
}

export function idempotencyKeyReused(): Problem {
  return new Problem(
    "already_exists",
    "This Idempotency-Key was used with another request in the last 24 hours. Use a new key for a new email.",
  );
}

/** Equal requests have equal hashes. Maps are sorted, because JSON objects have no order. */
export function requestHash(request: SendRequest): string {
  const sorted = (map: Readonly<Record<string, string>>) => Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  const { attachments, ...rest } = request;
  const hash = createHash("sha256").update(
    JSON.stringify({ ...rest, metadata: sorted(rest.metadata), headers: sorted(rest.headers) }),
  );
  for (const { base64Content, file, ...label } of attachments) {
    hash.update(JSON.stringify(label));
    if (file) for (const slice of base64Slices(file)) hash.update(slice);
    else hash.update(base64Content);
  }
  return hash.digest("hex");
}

/** The text that `file` was decoded from. */
function* base64Slices(file: Buffer): Generator<string> {
  const octets = 48 * 1024;
  for (let from = 0; from < file.length; from += octets) yield file.toString("base64", from, from + octets);
}

/** The key under which a submitted message with a Message-ID of its own is remembered. No caller can set such a key. A message that was tried
 * with a test key has not been sent. */
export function messageKey(digest: string, { test }: { test: boolean }): string {
  return `\u0001${test ? "test " : ""}message ${digest}`;
}

/** Two batches are equal if they have equal emails in the same order. */
export function hashOfBatch(requests: readonly SendRequest[]): string {
  const hash = createHash("sha256").update("batch");
  for (const request of requests) hash.update(requestHash(request));
  return hash.digest("hex");
}
