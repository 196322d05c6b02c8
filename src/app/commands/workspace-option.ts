/** The option --workspace of commands on the local store, and the workspace that it names. */
import { commandLine } from "../../audit/record.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { ensureFirstWorkspace, onlyOneNode } from "../../workspaces/store/first.ts";
import { findWorkspaceByName } from "../../workspaces/store.ts";
import { type Option, UsageError } from "../command.ts";

export const workspaceOption: Option = { type: "string", help: "name of the workspace; default: the first one" };

/** The id of the named workspace; without a name, of the first one, which is created if needed. */
export async function workspaceFrom(sql: Sql, name: string | boolean | undefined, nowMs: number): Promise<string> {
  if (typeof name !== "string")
    return await onlyOneNode(sql, (tx) =>
      ensureFirstWorkspace(tx, { id: makeUuid(nowMs), name: "default" }, commandLine),
    );
  const found = await findWorkspaceByName(sql, name);
  if (found.length === 0)
    throw new UsageError(
      `There is no workspace ${JSON.stringify(name)}. Create it with: posthorn workspaces create ${JSON.stringify(name)}`,
    );
  if (found.length > 1)
    throw new UsageError(`Several workspaces are called ${JSON.stringify(name)}. Rename one of them first.`);
  return found[0]!.id;
}
