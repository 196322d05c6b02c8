/** Creates what an instance needs before its first use: a workspace, a key with full permission, and the workspace of system mail. Called by assemble.ts. */
import { existsSync } from "node:fs";
import { ensureConfiguredKey, hasKeys, insertKey, makeKeySecret } from "../keys/store.ts";
import type { Clock } from "../ops/clock.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { ensureFirstWorkspace, ensureSystemWorkspace, onlyOneNode } from "../workspaces/store/first.ts";
import type { Config } from "./config.ts";
import { firstKeyFile, writePrivate } from "./files.ts";

export type FirstStart = {
  workspaceId: string;
  systemWorkspaceId: string;
  /** Set only on the very first start. */
  newKey: string | undefined;
  keyFile: string | undefined;
};

export async function ensureFirst(deps: { sql: Sql; clock: Clock; config: Config }): Promise<FirstStart> {
  const { clock, config } = deps;
  return await onlyOneNode(deps.sql, async (sql) => {
    const workspaceId = await ensureFirstWorkspace(sql, { id: makeUuid(clock.nowMs()), name: "default" });
    const systemWorkspaceId = await ensureSystemWorkspace(sql, makeUuid(clock.nowMs()));
    const ids = { workspaceId, systemWorkspaceId };
    if (config.apiKey) {
      await ensureConfiguredKey(sql, { id: makeUuid(clock.nowMs()), workspaceId, secret: config.apiKey });
      return { ...ids, newKey: undefined, keyFile: undefined };
    }
    const keyFile = firstKeyFile(config.dataDir);
    if (await hasKeys(sql, workspaceId))
      return { ...ids, newKey: undefined, keyFile: existsSync(keyFile) ? keyFile : undefined };
    const { secret } = makeKeySecret(false);
    // Written before the commit: a crash in between leaves a useless file, never a stored key whose secret is lost.
    await writePrivate(keyFile, `${secret}\n`);
    await insertKey(sql, {
      id: makeUuid(clock.nowMs()),
      workspaceId,
      name: "first key",
      secret,
      permission: "full",
      test: false,
    });
    return { ...ids, newKey: secret, keyFile };
  });
}
