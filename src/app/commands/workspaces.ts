/** posthorn workspaces: creates and lists workspaces, on a running or a stopped instance. workspace-quotas.ts,
 * workspace-removal.ts and export.ts have the other commands. */
import { audited, commandLine } from "../../audit/record.ts";
import { makeUuid, toWireId } from "../../postgres/ids.ts";
import { readUsage } from "../../quotas/store/usage.ts";
import { createWorkspace, findWorkspaceByName, listWorkspaces } from "../../workspaces/store.ts";
import { type Command, UsageError } from "../command.ts";
import { table } from "../output.ts";
import { workspacesExport } from "./export.ts";
import { withStore } from "./with-store.ts";
import { stateOf, workspaceQuotas } from "./workspace-quotas.ts";
import { workspacesDelete } from "./workspace-removal.ts";

const workspacesCreate: Command = {
  name: "workspaces create",
  summary: "Create a workspace: its domains, keys, emails and events are separate from all others.",
  words: "NAME",
  options: { json: { type: "boolean", help: "print the id and the name as JSON" } },
  async run({ words, options, config }) {
    const name = words.join(" ").trim();
    if (name === "" || name.length > 100)
      throw new UsageError("A workspace needs a name of 1 to 100 characters: posthorn workspaces create NAME");
    await withStore(config(), async ({ sql, nowMs }) => {
      if ((await findWorkspaceByName(sql, name)).length > 0)
        throw new UsageError(`A workspace named ${JSON.stringify(name)} already exists. Choose another name.`);
      const workspace = await audited(
        sql,
        commandLine,
        (tx) => createWorkspace(tx, { id: makeUuid(nowMs()), name }),
        ({ id }) => ({ action: "workspace.created", workspaceId: id, target: { kind: "workspace", id } }),
      );
      const id = toWireId("workspace", workspace.id);
      process.stdout.write(`${options.json ? JSON.stringify({ id, name }) : id}\n`);
    });
  },
};

const workspacesList: Command = {
  name: "workspaces list",
  summary: "List all workspaces, with what they sent in the current hour and day.",
  options: { json: { type: "boolean", help: "one JSON object per line" } },
  async run({ options, config }) {
    await withStore(config(), async ({ sql }) => {
      const workspaces = await listWorkspaces(sql);
      const usages = await readUsage(
        sql,
        workspaces.map(({ id }) => id),
      );
      const usageOf = new Map(usages.map((usage) => [usage.id, usage]));
      const rows = workspaces.flatMap((workspace) => {
        const usage = usageOf.get(workspace.id);
        return usage ? [{ workspace, usage, state: stateOf(usage) }] : [];
      });
      if (options.json)
        for (const { workspace, usage, state } of rows) {
          const { used, fromSignUp } = usage;
          const line = { ...workspace, id: toWireId("workspace", workspace.id), state, fromSignUp, used };
          process.stdout.write(`${JSON.stringify(line)}\n`);
        }
      else {
        const lines = rows.map(({ workspace, usage: { used }, state }) => [
          toWireId("workspace", workspace.id),
          workspace.createdAt.toISOString(),
          state,
          String(used.emailsPerHour),
          String(used.emailsPerDay),
          String(used.storedBytes),
          workspace.name,
        ]);
        const head = ["ID", "CREATED", "STATE", "EMAILS/HOUR", "EMAILS/DAY", "STORED BYTES", "NAME"];
        process.stdout.write(table([head, ...lines], ""));
      }
    });
  },
};

export const workspaces = [workspacesCreate, workspacesList, ...workspaceQuotas, workspacesExport, workspacesDelete];
