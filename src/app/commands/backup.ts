/** posthorn backup and posthorn restore: one folder with a copy of the embedded database and the secret. Works while the program runs. */
import { mkdir, readdir, readFile, rename, rm, stat, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { silentLog } from "../../ops/log.ts";
import { type CopiedCluster, copyEmbedded, restoreEmbedded, spaceForCopy } from "../../postgres/embedded/backup.ts";
import { EmbeddedError } from "../../postgres/embedded/error.ts";
import { serverVersion } from "../../postgres/pool.ts";
import { countAll } from "../../workspaces/store.ts";
import { type Command, UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import { writePrivate } from "../files.ts";
import { version } from "../help.ts";
import { explainStart, restoredMark, type Store } from "../open-store.ts";
import { showProgress } from "./progress-line.ts";
import { withStore } from "./with-store.ts";

type Label = { posthorn: string; postgres: string; madeAt: string; password: string };

export const backup: Command = {
  name: "backup",
  summary: "Copy the embedded database and the secret into a new folder, whether Posthorn runs or not.",
  words: "FOLDER",
  options: { json: { type: "boolean", help: "print the folder, its bytes and files as JSON" } },
  async run({ words, options, config: read }) {
    const config = read();
    requireEmbedded(config, "pg_dump and pg_restore, or the backups of that server's operator,");
    const folder = resolve(oneFolder(words));
    const inspect = async ({ sql }: Store) => ({
      postgres: (await serverVersion(sql)).text,
      space: await spaceForCopy(sql),
    });
    const { postgres, space } = await withStore(config, inspect, { keepSchema: true });
    const draft = `${folder}.incomplete`;
    await rm(draft, { recursive: true, force: true });
    await refuseExisting(folder);
    const { copied, kept } = await fillFolder(config, { draft, folder, postgres, space }).catch(async (error) => {
      // Explain before removing the incomplete copy: on the database's own disk, the copy is what filled it.
      const explained = explainFolder((await explainStart(error, config)) as Error, folder);
      await rm(draft, { recursive: true, force: true });
      throw explained;
    });
    const { bytes, files } = copied;
    if (options.json) return void process.stdout.write(`${JSON.stringify({ folder, bytes, files })}\n`);
    const lines = [
      `Backup written to ${folder}: ${files} files of the database, ${(bytes / 1024 ** 2).toFixed(0)} MB.`,
    ];
    lines.push(
      kept.includes("secret")
        ? "It contains the secret, which decrypts the keys in it. Protect the folder like the database itself."
        : "It does not contain the secret, because POSTHORN_SECRET is set. Back that value up as well.",
    );
    process.stdout.write(`${lines.join("\n")}\n`);
  },
};

type Filled = { copied: CopiedCluster; kept: string[] };

async function fillFolder(
  config: Config,
  { draft, folder, postgres, space }: { draft: string; folder: string; postgres: string; space: number },
): Promise<Filled> {
  await mkdir(draft, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(draft);
  if (bavail * bsize < space) throw new TooLittleSpace(folder, { space, free: bavail * bsize });
  const progress = showProgress();
  const onProgress = (bytes: number) => progress.show(copiedText(bytes), bytes / space);
  const copied = await copyEmbedded({ dataDir: config.dataDir, log: silentLog(), to: draft, onProgress }).finally(
    progress.end,
  );
  const { password } = copied;
  const label: Label = { posthorn: version, postgres, madeAt: new Date().toISOString(), password };
  const kept = await copySmallFiles(config.dataDir, draft);
  await writePrivate(join(draft, "backup.json"), `${JSON.stringify(label, null, 2)}\n`);
  // The folder gets its final name only when it is complete.
  await rename(draft, folder);
  return { copied, kept };
}

/** Thrown before the copy begins: a copy that fills the database's own disk would stop the database. */
class TooLittleSpace extends EmbeddedError {
  constructor(folder: string, { space, free }: { space: number; free: number }) {
    const megabytes = (bytes: number) => `${Math.ceil(bytes / 1024 ** 2)} MB`;
    const message = `The backup needs ${megabytes(space)}, but the disk of ${folder} has only ${megabytes(free)} free. Free some space, or choose a folder on another disk.`;
    super("disk", message);
  }
}

function explainFolder(error: Error, folder: string): Error {
  if (error instanceof TooLittleSpace) return error;
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT" || code === "disk") {
    const message = `The disk of ${folder} is full. The incomplete backup was removed. Free some space, or choose a folder on another disk.`;
    return new EmbeddedError("disk", message, { cause: error });
  }
  if (path === undefined || !path.startsWith(folder)) return error;
  return new UsageError(`Cannot write to ${folder}: ${error.message}. Choose another folder.`);
}

export const restore: Command = {
  name: "restore",
  summary: "Create a new data directory from a folder that posthorn backup wrote.",
  words: "FOLDER",
  options: {},
  async run({ words, config: read }) {
    const config = read();
    requireEmbedded(config, "pg_restore");
    const from = resolve(oneFolder(words));
    const label = await readLabel(from);
    const { dataDir } = config;
    const restoreOtherFiles = async () => {
      await copySmallFiles(from, dataDir);
      await writePrivate(restoredMark(dataDir), "");
    };
    const total = await sizeOf(join(from, "postgres"));
    const progress = showProgress();
    const onProgress = (bytes: number) => progress.show(copiedText(bytes), bytes / total);
    await restoreEmbedded({ dataDir, from, password: label.password, restoreOtherFiles, onProgress }).finally(
      progress.end,
    );
    const count = await withStore(config, async ({ sql }) => await countAll(sql));
    process.stdout.write(
      `Restored ${config.dataDir} as of ${label.madeAt}: ${count.workspaces} workspaces, ${count.domains} domains, ${count.emails} emails, ${count.events} events.\nStart it with: npm start\n`,
    );
  },
};

function copiedText(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(0)} MB copied`;
}

/** The bytes of all files in the folder. A missing folder is reported by the copy. */
async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
  return bytes;
}

function requireEmbedded(config: Config, alternative: string): void {
  if (config.databaseUrl !== undefined)
    throw new UsageError(
      `This command works on the embedded database only, and DATABASE_URL is set. Use ${alternative} for that database, and back up POSTHORN_SECRET too.`,
    );
}

function oneFolder(words: readonly string[]): string {
  if (words.length !== 1 || !words[0]) throw new UsageError("Give one folder, for example: backups/2027-01-31");
  return words[0];
}

async function refuseExisting(folder: string): Promise<void> {
  const found = await readdir(folder).catch(() => undefined);
  if (found && found.length > 0)
    throw new UsageError(`${folder} already exists and is not empty. Choose a new folder.`);
  await rm(folder, { recursive: true, force: true });
}

/** Copies the small files of the data directory that exist, and returns their names. */
async function copySmallFiles(from: string, to: string): Promise<string[]> {
  const kept: string[] = [];
  // The secret before the previous one: see findSecrets.
  for (const name of ["secret", "secret.previous", "first-key"]) {
    const text = await readFile(join(from, name), "utf8").catch(() => undefined);
    if (text === undefined) continue;
    await writePrivate(join(to, name), text);
    kept.push(name);
  }
  return kept;
}

async function readLabel(from: string): Promise<Label> {
  const text = await readFile(join(from, "backup.json"), "utf8").catch(() => {
    throw new UsageError(`${from} is not a complete backup: it has no backup.json.`);
  });
  return JSON.parse(text) as Label;
}
