/** The small files in the data directory: the secret, the first key, the first sign-up, the ports. Written whole or not at all, readable by their owner only. */
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Config } from "./config.ts";

/** Closed to other accounts from the moment it exists. A folder that exists keeps its mode: the operator chose it. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

export async function writePrivate(path: string, text: string): Promise<void> {
  await makePrivateFolder(dirname(path));
  const draft = `${path}.${process.pid}.tmp`;
  // Never through a file or a link that was there before, whose mode and owner would stay.
  await rm(draft, { force: true });
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

/** The configured secret, or the one made on first start. Losing it makes sealed keys unreadable: it belongs into the back-up. */
export async function readSecret(config: Pick<Config, "secret" | "dataDir">): Promise<string> {
  if (config.secret) return config.secret;
  const path = join(config.dataDir, "secret");
  const kept = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (kept !== undefined) return kept.trim();
  const secret = randomBytes(32).toString("hex");
  await writePrivate(path, `${secret}\n`);
  return secret;
}

export type Ports = { pid: number; http?: number; smtp?: number; dns?: number };

export async function writePorts(dataDir: string, ports: Ports): Promise<void> {
  await writePrivate(join(dataDir, "ports.json"), `${JSON.stringify(ports)}\n`);
}

/** The ports of the program that runs on this data directory; undefined when none does. */
export async function runningPorts(dataDir: string): Promise<Ports | undefined> {
  const text = await readFile(join(dataDir, "ports.json"), "utf8").catch(() => undefined);
  const ports = text === undefined ? undefined : (JSON.parse(text) as Ports);
  return ports && isRunning(ports.pid) ? ports : undefined;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

export const firstKeyFile = (dataDir: string) => join(dataDir, "first-key");

/** Holds the one-time link of the first person, until a person has signed up. */
export const firstSignUpFile = (dataDir: string) => join(dataDir, "first-sign-up");

/** Where captured mail lies. */
export const mailboxFolder = (dataDir: string) => join(dataDir, "mailbox");
