/** Writes what a command downloads to standard output, or with --output to a file that gets its name when it is complete. */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { type FileHandle, lstat, open, rename, rm } from "node:fs/promises";
import { type Option, UsageError } from "../command.ts";
import { plainLines, write } from "../output.ts";

export const outputOption: Option = { type: "string", help: "write to this file instead of standard output" };

export type Output = { write(chunk: Uint8Array | string): Promise<void> };

/** An existing file is not replaced. The file of a failed or interrupted command is removed. Its mode is 0600: it holds mail. */
export async function withOutput(
  path: string | boolean | undefined,
  work: (output: Output) => Promise<void>,
): Promise<void> {
  if (path === undefined || path === "-") return await work({ write });
  const target = String(path);
  // A random name: in a shared folder, another account could put a link there.
  const draft = `${target}.${randomBytes(6).toString("hex")}.incomplete`;
  await refuseExisting(target);
  const endSignals = removeAtSignal(draft);
  let file: FileHandle | undefined;
  try {
    file = await open(draft, "wx", 0o600);
    const opened = file;
    await work({
      async write(chunk) {
        await opened.writeFile(chunk);
      },
    });
    await file.sync();
    await file.close();
    await refuseExisting(target);
    await rename(draft, target);
  } catch (error) {
    await file?.close().catch(() => {});
    if (file) await rm(draft, { force: true });
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new UsageError(`Cannot write to ${target}: ${(error as Error).message}`);
  } finally {
    endSignals();
  }
}

/** Ctrl-C ends these commands at once. Returns the function that ends this. */
function removeAtSignal(draft: string): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const remove = (signal: NodeJS.Signals) => {
    rmSync(draft, { force: true });
    end();
    // Without a handler, the signal ends the process, and the shell learns which one it was.
    process.kill(process.pid, signal);
  };
  const end = () => {
    for (const signal of signals) process.off(signal, remove);
  };
  for (const signal of signals) process.on(signal, remove);
  return end;
}

/** Without opening it: a named pipe would wait for a writer. */
async function refuseExisting(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new UsageError(`Cannot write to ${path}: ${error.message}`);
  });
  if (found) throw new UsageError(`${path} already exists. Remove it, or choose another file for --output.`);
}

/** The JSON goes to standard output, so a file would never be written. */
export function refuseJsonWithOutput({ json, output }: Record<string, string | boolean | undefined>): void {
  if (json && output !== undefined) throw new UsageError("Use either --json or --output, not both.");
}

/** Text of strangers: a terminal gets it without control characters, a file or a pipe gets it unchanged. */
export async function writeText(output: Output, text: string, toFile: boolean): Promise<void> {
  if (toFile || !process.stdout.isTTY) return await output.write(text);
  await output.write(text.endsWith("\n") ? plainLines(text) : `${plainLines(text)}\n`);
}

/** Octets would disturb a terminal, or control it. */
export function refuseTerminal(path: string | boolean | undefined, what: string): void {
  if ((path === undefined || path === "-") && process.stdout.isTTY)
    throw new UsageError(`${what} is not text for a terminal. Use --output FILE, or a pipe.`);
}
