/** What a fresh instance needs before anybody can use it: a first workspace and a full key for it. */
import { existsSync } from "node:fs";
import type { Clock } from "../store/clock.ts";
import type { Sql } from "../store/db.ts";
import { makeUuid } from "../store/ids.ts";
import { ensureConfiguredKey, hasKeys, insertKey, makeKeySecret } from "../store/keys.ts";
import { ensureFirstWorkspace, onlyOneNode } from "../store/workspaces.ts";
import type { Config } from "./config.ts";
import { firstKeyFile, writePrivate } from "./files.ts";

export type FirstStart = {
  workspaceId: string;
  /** Only at the very first start. */
  newKey: string | undefined;
  keyFile: string | undefined;
};

export async function ensureFirst(deps: { sql: Sql; clock: Clock; config: Config }): Promise<FirstStart> {
  const { clock, config } = deps;
  return await onlyOneNode(deps.sql, async (sql) => {
    const workspaceId = await ensureFirstWorkspace(sql, { id: makeUuid(clock.nowMs()), name: "default" });
    if (config.apiKey) {
      await ensureConfiguredKey(sql, { id: makeUuid(clock.nowMs()), workspaceId, secret: config.apiKey });
      return { workspaceId, newKey: undefined, keyFile: undefined };
    }
    const keyFile = firstKeyFile(config.dataDir);
    if (await hasKeys(sql, workspaceId))
      return { workspaceId, newKey: undefined, keyFile: existsSync(keyFile) ? keyFile : undefined };
    const { secret } = makeKeySecret(false);
    // Written before the commit: a crash in between leaves a useless file, never a key that nobody knows.
    await writePrivate(keyFile, `${secret}\n`);
    await insertKey(sql, {
      id: makeUuid(clock.nowMs()),
      workspaceId,
      name: "first key",
      secret,
      permission: "full",
      test: false,
    });
    return { workspaceId, newKey: secret, keyFile };
  });
}
