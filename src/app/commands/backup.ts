/** posthorn backup and restore: the embedded database with the secret that opens it, as one folder. The program may go on running. */
import { mkdir, readdir, readFile, rename, rm, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { silentLog } from "../../ops/log.ts";
import { serverVersion } from "../../store/db.ts";
import { type CopiedCluster, copyEmbedded, placeEmbedded, spaceForCopy } from "../../store/embedded-backup.ts";
import { EmbeddedError } from "../../store/embedded-error.ts";
import { countAll } from "../../store/workspaces.ts";
import { type Command, UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import { writePrivate } from "../files.ts";
import { explainStart, type Store } from "../open-store.ts";
import { version } from "../version.ts";
import { withStore } from "./with-store.ts";

type Label = { posthorn: string; postgres: string; madeAt: string; password: string };

export const backup: Command = {
  name: "backup",
  summary: "Copy our own database and the secret into a new folder, while Posthorn runs or not.",
  words: "FOLDER",
  options: { json: { type: "boolean", help: "print what was copied as JSON" } },
  async run({ words, options, config: read }) {
    const config = read();
    requireEmbedded(config, "pg_dump and pg_restore, or the means of whoever runs that server,");
    const folder = resolve(oneFolder(words));
    const look = async ({ sql }: Store) => ({
      postgres: (await serverVersion(sql)).text,
      space: await spaceForCopy(sql),
    });
    const { postgres, space } = await withStore(config, look, { keepSchema: true });
    const draft = `${folder}.incomplete`;
    await rm(draft, { recursive: true, force: true });
    await refuseExisting(folder);
    const { copied, kept } = await fillFolder(config, { draft, folder, postgres, space }).catch(async (error) => {
      // Before the unfinished copy goes: on the database's own disk it is what took the space.
      const told = explainFolder((await explainStart(error, config)) as Error, folder);
      await rm(draft, { recursive: true, force: true });
      throw told;
    });
    const { bytes, files } = copied;
    if (options.json) return void process.stdout.write(`${JSON.stringify({ folder, bytes, files })}\n`);
    const lines = [`${folder} holds ${files} files of the database, ${(bytes / 1024 ** 2).toFixed(0)} MB.`];
    lines.push(
      kept.includes("secret")
        ? "The secret is in it: whoever has this folder has everything. Keep it where the data may be kept."
        : "The secret is not in it, because POSTHORN_SECRET is set: keep that one safe as well.",
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
  const onProgress = progressOn(process.stderr);
  const copied = await copyEmbedded({ dataDir: config.dataDir, log: silentLog(), to: draft, onProgress });
  onProgress?.(undefined);
  const { password } = copied;
  const label: Label = { posthorn: version, postgres, madeAt: new Date().toISOString(), password };
  const kept = await copySmallFiles(config.dataDir, draft);
  await writePrivate(join(draft, "backup.json"), `${JSON.stringify(label, null, 2)}\n`);
  // Under its name only when it is whole.
  await rename(draft, folder);
  return { copied, kept };
}

/** Found before the copy begins: a copy that fills the disk of its own database ends that database. */
class TooLittleSpace extends EmbeddedError {
  constructor(folder: string, { space, free }: { space: number; free: number }) {
    const megabytes = (bytes: number) => `${Math.ceil(bytes / 1024 ** 2)} MB`;
    const message = `A copy needs ${megabytes(space)}, and the disk of ${folder} has ${megabytes(free)} free. Free some space, or name a folder on another disk.`;
    super("disk", message);
  }
}

function explainFolder(error: Error, folder: string): Error {
  if (error instanceof TooLittleSpace) return error;
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT" || code === "disk") {
    const message = `The disk of ${folder} is full, and nothing was kept. Free some space, or name a folder on another disk.`;
    return new EmbeddedError("disk", message, { cause: error });
  }
  if (path === undefined || !path.startsWith(folder)) return error;
  return new UsageError(`${folder} cannot be written: ${error.message}. Name another folder.`);
}

export const restore: Command = {
  name: "restore",
  summary: "Make a new data directory from a folder that posthorn backup wrote.",
  words: "FOLDER",
  options: {},
  async run({ words, config: read }) {
    const config = read();
    requireEmbedded(config, "pg_restore");
    const from = resolve(oneFolder(words));
    const label = await readLabel(from);
    const { dataDir } = config;
    const placeOthers = () => copySmallFiles(from, dataDir);
    await placeEmbedded({ dataDir, from, password: label.password, placeOthers });
    const count = await withStore(config, async ({ sql }) => await countAll(sql));
    process.stdout.write(
      `${config.dataDir} is as it was on ${label.madeAt}: ${count.workspaces} workspaces, ${count.domains} domains, ${count.emails} emails, ${count.events} events.\nStart it with: npm start\n`,
    );
  },
};

/** A line that counts on, on a terminal only; undefined ends it. */
function progressOn(terminal: NodeJS.WriteStream): ((bytes: number | undefined) => void) | undefined {
  if (!terminal.isTTY) return undefined;
  return (bytes) =>
    terminal.write(bytes === undefined ? "\r\u001b[K" : `\r${(bytes / 1024 ** 2).toFixed(0)} MB copied`);
}

function requireEmbedded(config: Config, means: string): void {
  if (config.databaseUrl !== undefined)
    throw new UsageError(
      `This command is for our own database, and DATABASE_URL is set. Use ${means} for that one, and keep POSTHORN_SECRET with the copy.`,
    );
}

function oneFolder(words: readonly string[]): string {
  if (words.length !== 1 || !words[0]) throw new UsageError("Name one folder, for example: backups/2027-01-31");
  return words[0];
}

async function refuseExisting(folder: string): Promise<void> {
  const found = await readdir(folder).catch(() => undefined);
  if (found && found.length > 0) throw new UsageError(`${folder} is there already, and not empty. Name a new folder.`);
  await rm(folder, { recursive: true, force: true });
}

/** Files beside the database, as far as they are there; gives the names of those that were. */
async function copySmallFiles(from: string, to: string): Promise<string[]> {
  const kept: string[] = [];
  for (const name of ["secret", "first-key"]) {
    const text = await readFile(join(from, name), "utf8").catch(() => undefined);
    if (text === undefined) continue;
    await writePrivate(join(to, name), text);
    kept.push(name);
  }
  return kept;
}

async function readLabel(from: string): Promise<Label> {
  const text = await readFile(join(from, "backup.json"), "utf8").catch(() => {
    throw new UsageError(`${from} is not a complete backup: it holds no backup.json.`);
  });
  return JSON.parse(text) as Label;
}
