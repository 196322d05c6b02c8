/** Makes the content store of POSTHORN_CONTENT_URL. Called by open-store.ts, so that the program and every command have it. */

import { describeAddress } from "../../objects/address.ts";
import { type ContentStore, createContentStore } from "../../objects/content-store.ts";
import { meanings } from "../../objects/rules/mark.ts";
import { createS3 } from "../../objects/s3.ts";
import { hasObjects } from "../../objects/store/objects.ts";
import type { Log } from "../../ops/log.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Secrets } from "../../postgres/sealing.ts";
import type { Config } from "../config.ts";

export type ContentsDeps = {
  config: Pick<Config, "content">;
  sql: Sql;
  secrets: Secrets;
  log: Log;
  nowMs(): number;
};

/** Undefined: all content is in the database. */
export function openContents({ config, sql, secrets, log, nowMs }: ContentsDeps): ContentStore | undefined {
  if (!config.content) return undefined;
  const { address, credentials, aboveBytes } = config.content;
  return createContentStore({ s3: createS3({ address, credentials }), sql, secrets, log, nowMs, aboveBytes });
}

/** The object storage belongs to another instance. The message is for the operator. */
export class ContentRefused extends Error {
  override readonly name = "ContentRefused";
}

/** At the start of a program. A store that does not answer is no reason not to start: small mail goes on. */
export async function beginContents(
  contents: ContentStore | undefined,
  { config, sql, log }: ContentsDeps,
): Promise<void> {
  if (!contents) {
    if (await hasObjects(sql))
      log.warn(
        {},
        "some content is in object storage, but POSTHORN_CONTENT_URL is not set: large mail cannot be sent or read",
      );
    return;
  }
  await contents.check();
  const standing = contents.standing.last()?.standing;
  if (standing === "foreign")
    throw new ContentRefused(`POSTHORN_CONTENT_URL: ${describeAddress(config.content!.address)}: ${meanings.foreign}`);
  if (standing === "copy") log.warn({}, meanings.copy);
  contents.start();
}
