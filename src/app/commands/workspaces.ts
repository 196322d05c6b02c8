/** posthorn workspaces: creates and lists workspaces, on a running or a stopped instance. */
import { makeUuid, toWireId } from "../../postgres/ids.ts";
import { createWorkspace, findWorkspaceByName, listWorkspaces } from "../../workspaces/store.ts";
import { type Command, table, UsageError } from "../command.ts";
import { withStore } from "./with-store.ts";

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
      const workspace = await createWorkspace(sql, { id: makeUuid(nowMs()), name });
      const id = toWireId("workspace", workspace.id);
      process.stdout.write(`${options.json ? JSON.stringify({ id, name }) : id}\n`);
    });
  },
};

const workspacesList: Command = {
  name: "workspaces list",
  summary: "List all workspaces.",
  options: { json: { type: "boolean", help: "one JSON object per line" } },
  async run({ options, config }) {
    await withStore(config(), async ({ sql }) => {
      const rows = await listWorkspaces(sql);
      if (options.json)
        for (const row of rows)
          process.stdout.write(`${JSON.stringify({ ...row, id: toWireId("workspace", row.id) })}\n`);
      else
        process.stdout.write(
          table(
            [
              ["ID", "CREATED", "NAME"],
              ...rows.map((w) => [toWireId("workspace", w.id), w.createdAt.toISOString(), w.name]),
            ],
            "",
          ),
        );
    });
  },
};

export const workspaces = [workspacesCreate, workspacesList];
