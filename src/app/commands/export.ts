/** posthorn workspaces export and posthorn people export: write everything that is stored of a workspace or of a person to a folder, on a
 * running or a stopped instance. */
import { resolve } from "node:path";
import type { AuditChange } from "../../audit/entry.ts";
import { commandLine, record } from "../../audit/record.ts";
import type { ContentStore } from "../../objects/content-store.ts";
import { exportAll, type Manifest } from "../../operators/export.ts";
import type { Subject } from "../../operators/store/export.ts";
import { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import { type Command, type Option, UsageError } from "../command.ts";
import { findPersonByWord } from "./people-operators.ts";
import { showProgress } from "./progress-line.ts";
import { withStore } from "./with-store.ts";
import { find as findWorkspace } from "./workspace-quotas.ts";

const options: Record<string, Option> = { json: { type: "boolean", help: "print the manifest as JSON" } };

export const workspacesExport: Command = {
  name: "workspaces export",
  summary: "Write all data of a workspace to a folder: JSON lines and files. A second run continues after a kill.",
  words: "ID|NAME DIR",
  options,
  async run({ words, options, config, stop }) {
    const folder = folderOf(words);
    await withStore(config(), async ({ sql, contents, nowMs }) => {
      const { id, name } = await findWorkspace(sql, words.slice(0, -1));
      const change = { action: "workspace.exported", workspaceId: id } as const;
      const subject = { kind: "workspace", id } as const;
      await run(sql, { contents, subject, change, folder, name, nowMs, stop, json: options.json === true });
    });
  },
};

export const peopleExport: Command = {
  name: "people export",
  summary: "Write all data of a person to a folder: JSON lines and files. A second run continues after a kill.",
  words: "EMAIL DIR",
  options,
  async run({ words, options, config, stop }) {
    const folder = folderOf(words);
    await withStore(config(), async ({ sql, contents, nowMs }) => {
      const { id, email } = await findPersonByWord(sql, words.slice(0, -1));
      const change = { action: "person.exported", target: { kind: "person", id } } as const;
      const subject = { kind: "person", id, email } as const;
      await run(sql, { contents, subject, change, folder, name: email, nowMs, stop, json: options.json === true });
    });
  },
};

function folderOf(words: readonly string[]): string {
  if (words.length < 2) throw new UsageError("Name what to export and a folder, for example: ./export");
  return resolve(words.at(-1)!);
}

type Run = {
  contents: ContentStore | undefined;
  subject: Subject;
  change: AuditChange;
  folder: string;
  name: string;
  nowMs(): number;
  stop: AbortSignal;
  json: boolean;
};

async function run(sql: Sql, { contents, subject, change, folder, name, nowMs, stop, json }: Run): Promise<void> {
  await sql.begin((tx) => record(tx, commandLine, change));
  const progress = showProgress();
  const done = await exportAll(sql, { subject, contents, path: folder, nowMs, stop, onProgress: progress.show })
    .catch((error: NodeJS.ErrnoException) => {
      // A full disk, for example.
      if (error.syscall === undefined) throw error;
      const fix = "Repeat the command with the same folder to continue.";
      throw new Problem("unavailable", `Cannot write to ${folder}: ${error.message}. ${fix}`, { cause: error });
    })
    .finally(progress.end);
  if (!done) throw new UsageError("The export was stopped. Repeat the command to continue it.");
  const { manifest } = done;
  process.stdout.write(json ? `${JSON.stringify(manifest)}\n` : `${summaryOf(manifest, name, folder)}\n`);
}

function summaryOf({ files }: Manifest, name: string, folder: string): string {
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  return `${name} is exported to ${folder}: ${rows} lines in ${files.length} files. manifest.json has their checksums. The folder contains personal data.`;
}
