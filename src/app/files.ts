/** The small files of the data directory: secret, first key, first sign-up link, ports. Each is written atomically and is readable by
 * its owner only. Used by the wiring and by commands. */
import { randomBytes } from "node:crypto";
import { link, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeDataDir, syncPath } from "../postgres/embedded/location.ts";
import { identityOf } from "../postgres/embedded/lock.ts";
import { pidTaken, processStart } from "../postgres/embedded/process.ts";
import type { Config } from "./config.ts";

/** Replaces the file. `write` as a function receives the identity of the new file, which a copy of the file would not have. */
export async function writePrivate(path: string, write: string | ((identity: string) => string)): Promise<void> {
  await makeDataDir(dirname(path));
  const draft = `${path}.${process.pid}.tmp`;
  // A leftover file or symbolic link would keep its own mode and owner.
  await rm(draft, { force: true });
  try {
    await writeDraft(draft, write);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    throw error;
  }
}

async function writeDraft(draft: string, write: string | ((identity: string) => string)): Promise<void> {
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(typeof write === "string" ? write : write(identityOf(await file.stat())));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Never replaces a file: of several concurrent callers, link(2) succeeds for one, and the others keep its file. */
async function createPrivate(path: string, text: string): Promise<void> {
  await makeDataDir(dirname(path));
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await writeDraft(draft, text);
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  await syncPath(dirname(path));
}

export type SecretConfig = Pick<Config, "secret" | "secretPrevious" | "dataDir">;
/** The secret, and the one before it while it is being replaced. */
export type SecretPair = { secret: string; previous: string | undefined };

export const secretFile = (dataDir: string) => join(dataDir, "secret");
export const previousSecretFile = (dataDir: string) => join(dataDir, "secret.previous");

/** The configured secrets, or those in the data directory, where the first start generates one. Without the secret, sealed keys are
 * unreadable: include it in every backup. */
export async function readSecrets(config: SecretConfig): Promise<SecretPair> {
  const found = await findSecrets(config);
  if (found) return found;
  await createPrivate(secretFile(config.dataDir), newSecret());
  return (await findSecrets(config))!;
}

/** Like `readSecrets`, but undefined if there is no secret. */
export async function findSecrets(config: SecretConfig): Promise<SecretPair | undefined> {
  if (config.secret) return { secret: config.secret, previous: config.secretPrevious };
  const read = async (path: string) => {
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      return "";
    });
    return text.trim() || undefined;
  };
  // In this order: replaceSecretFile writes the previous one first, so a new secret is never read without it.
  const secret = await read(secretFile(config.dataDir));
  return secret === undefined ? undefined : { secret, previous: await read(previousSecretFile(config.dataDir)) };
}

/** Generates a new secret for the data directory, and keeps the present one as the previous one. A crash leaves the present one in one of
 * the two files at any moment. */
export async function replaceSecretFile(dataDir: string): Promise<SecretPair> {
  const previous = (await readFile(secretFile(dataDir), "utf8")).trim();
  await writePrivate(previousSecretFile(dataDir), `${previous}\n`);
  await syncPath(dataDir);
  const secret = newSecret();
  await writePrivate(secretFile(dataDir), secret);
  await syncPath(dataDir);
  return { secret: secret.trim(), previous };
}

function newSecret(): string {
  return `${randomBytes(32).toString("hex")}\n`;
}

export type Ports = {
  pid: number;
  http?: number;
  smtp?: number;
  submission?: number;
  submissions?: number;
  dns?: number;
  ops?: number;
};

/** Proves that ports.json belongs to a process: the process's start time, and the identity of the file that it wrote. */
type Proof = { start?: string; file?: string };

export async function writePorts(dataDir: string, ports: Ports): Promise<void> {
  const start = processStart(ports.pid);
  const text = (file: string) => `${JSON.stringify({ ...ports, start, file })}\n`;
  await writePrivate(join(dataDir, "ports.json"), text);
}

/** The ports of the program that runs on this data directory; undefined if none runs. */
export async function runningPorts(dataDir: string): Promise<Ports | undefined> {
  const found = await readPorts(dataDir);
  return found?.running ? found.ports : undefined;
}

/** The ports of the program that runs here or ran here last; undefined if the file is a copy from another data directory. */
export async function readPorts(dataDir: string): Promise<{ ports: Ports; running: boolean } | undefined> {
  const path = join(dataDir, "ports.json");
  try {
    const { start, file, ...ports } = JSON.parse(await readFile(path, "utf8")) as Ports & Proof;
    if (file !== undefined && file !== identityOf(await stat(path))) return undefined;
    return { ports, running: start === undefined ? pidTaken(ports.pid) : processStart(ports.pid) === start };
  } catch {
    return undefined;
  }
}

export const firstKeyFile = (dataDir: string) => join(dataDir, "first-key");

/** Holds the first person's one-time link until a person has signed up. */
export const firstSignUpFile = (dataDir: string) => join(dataDir, "first-sign-up");

/** The folder of captured mail. */
export const mailboxFolder = (dataDir: string) => join(dataDir, "mailbox");
export const journalFolder = (dataDir: string) => join(dataDir, "dots");
