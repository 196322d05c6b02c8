/** posthorn workspaces delete: takes a workspace out of service and deletes it, on a running or a stopped instance. */
import { commandLine } from "../../audit/record.ts";
import { deleteToEnd } from "../../operators/deletion.ts";
import { deleteWorkspace } from "../../operators/workspaces.ts";
import { toWireId } from "../../postgres/ids.ts";
import { findProviderWorkspaces } from "../assemble/providers.ts";
import { type Command, UsageError } from "../command.ts";
import { showProgress } from "./progress-line.ts";
import { withStore } from "./with-store.ts";
import { find, finish } from "./workspace-quotas.ts";

export const workspacesDelete: Command = {
  name: "workspaces delete",
  summary: "Delete a workspace with all its data. This cannot be undone: export the workspace first.",
  words: "ID|NAME",
  options: {
    yes: { type: "boolean", help: "required: confirms the deletion" },
    "no-wait": { type: "boolean", help: "return at once: a running program deletes the data in the background" },
    json: { type: "boolean", help: "print JSON" },
  },
  async run({ words, options, config: read, stop }) {
    const config = read();
    await withStore(config, async ({ sql }) => {
      // A deletion that was killed is continued by the same command, by name only while no other workspace has that name.
      const workspace = await find(sql, words, { withDeleting: true });
      const { id, name } = workspace;
      if (!options.yes)
        throw new UsageError(
          `This deletes ${JSON.stringify(name)} with all its mail for good. Export it first: posthorn workspaces export ${toWireId("workspace", id)} DIR\nThen repeat the command with --yes.`,
        );
      const providers = await findProviderWorkspaces(sql, config.providers);
      await deleteWorkspace(sql, { workspace, actor: commandLine, providers });
      // The id, because a later workspace may get the same name.
      process.stderr.write(
        `Deleting ${name}. To continue after a kill: posthorn workspaces delete ${toWireId("workspace", id)} --yes\n`,
      );
      const progress = showProgress();
      if (!options["no-wait"])
        await deleteToEnd(sql, id, { stop, onProgress: (rows) => progress.show(`${rows} rows deleted`) });
      progress.end();
      const state =
        options["no-wait"] || stop.aborted ? "is out of service, and its data is being deleted" : "is deleted";
      finish(
        options,
        { id: toWireId("workspace", id), name },
        `${name} ${state}. Its DKIM keys stay in DNS for 7 days.`,
      );
    });
  },
};
