/** Finds the workspaces that the settings of providers name. A name that does not exist stops the start: people would otherwise sign up to
 * nowhere. Called by assemble.ts. */
import type { Provider, ProviderSettings } from "../../people/rules/provider.ts";
import { fromWireId } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { findWorkspaceByName, getWorkspace } from "../../workspaces/store.ts";
import { ConfigError } from "../config.ts";
import { quote } from "../config-shapes.ts";

export async function findProviderWorkspaces(sql: Sql, settings: readonly ProviderSettings[]): Promise<Provider[]> {
  const problems: string[] = [];
  const providers: Provider[] = [];
  for (const one of settings) {
    const found = one.workspace === undefined ? [] : await find(sql, one.workspace);
    if (one.workspace === undefined || found.length === 1) providers.push({ ...one, workspaceId: found[0]?.id });
    else if (found.length === 0)
      problems.push(
        `${one.workspaceSetting}: there is no workspace ${quote(one.workspace)}; create it with: posthorn workspaces create ${quote(one.workspace)}`,
      );
    else
      problems.push(
        `${one.workspaceSetting}: several workspaces are named ${quote(one.workspace)}; write the id that posthorn workspaces list shows`,
      );
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return providers;
}

async function find(sql: Sql, nameOrId: string): Promise<{ id: string }[]> {
  const id = fromWireId("workspace", nameOrId);
  if (id === undefined) return await findWorkspaceByName(sql, nameOrId);
  const workspace = await getWorkspace(sql, id);
  return workspace ? [workspace] : [];
}
