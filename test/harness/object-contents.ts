/** A content store of one database for tests, as the program makes it. */

import { type ContentStore, createContentStore } from "../../src/objects/content-store.ts";
import { silentLog } from "../../src/ops/log.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { createSecrets } from "../../src/postgres/sealing.ts";
import type { TestStore } from "./object-store.ts";

export const contentSecret = "the secret of the tests of object storage";

export function createTestContents(sql: Sql, store: TestStore, nowMs = () => Date.now()): ContentStore {
  const s3 = store.s3({ retryPausesMs: [1] });
  const secrets = createSecrets(contentSecret);
  return createContentStore({ s3, sql, secrets, log: silentLog(), nowMs, aboveBytes: 64 * 1024 });
}

export const contentOf = (bytes: Buffer) => ({ bytes: bytes.length, chunks: () => [bytes] });

export async function allOf(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}
