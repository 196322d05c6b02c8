/** The small files in the data directory: the secret, the first key, the first sign-up, the ports. Written whole or not at all, readable by their owner only. */
import { randomBytes } from "node:crypto";
import { link, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeDataDir, syncPath } from "../store/embedded-home.ts";
import { identityOf } from "../store/embedded-lock.ts";
import { pidTaken, processStart } from "../store/embedded-process.ts";
import type { Config } from "./config.ts";

/** `write` may ask for the identity of the file, which a copy of it does not have. */
export async function writePrivate(path: string, write: string | ((identity: string) => string)): Promise<void> {
  await makeDataDir(dirname(path));
  const draft = `${path}.${process.pid}.tmp`;
  // Never through a file or a link that was there before, whose mode and owner would stay.
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

/** Never replaces a file: link(2) succeeds for one of several callers, and the others keep what that one wrote. */
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

/** The configured secret, or the one made on first start. Without it, sealed keys are unreadable: include it in every backup. */
export async function readSecret(config: Pick<Config, "secret" | "dataDir">): Promise<string> {
  if (config.secret) return config.secret;
  const path = join(config.dataDir, "secret");
  const read = async () => (await readFile(path, "utf8")).trim();
  return await read().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    await createPrivate(path, `${randomBytes(32).toString("hex")}\n`);
    return await read();
  });
}

export type Ports = { pid: number; http?: number; smtp?: number; dns?: number; ops?: number };

/** What proves that the file is the program's own: the start of its process, and the file that it wrote. */
type Proof = { start?: string; file?: string };

export async function writePorts(dataDir: string, ports: Ports): Promise<void> {
  const start = processStart(ports.pid);
  const text = (file: string) => `${JSON.stringify({ ...ports, start, file })}\n`;
  await writePrivate(join(dataDir, "ports.json"), text);
}

/** The ports of the program that runs on this data directory; undefined when none does. */
export async function runningPorts(dataDir: string): Promise<Ports | undefined> {
  const found = await readPorts(dataDir);
  return found?.running ? found.ports : undefined;
}

/** The ports of the program that runs here or ran here last; undefined when the file came with a copy of another data directory. */
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

/** Holds the one-time link of the first person, until a person has signed up. */
export const firstSignUpFile = (dataDir: string) => join(dataDir, "first-sign-up");

/** Where captured mail lies. */
export const mailboxFolder = (dataDir: string) => join(dataDir, "mailbox");
