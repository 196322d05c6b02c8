/** The local mailbox of capture mode: a Maildir in the data directory that any mail program can open. Nothing leaves the machine. */
import { chmod, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../ops/log.ts";

export type Mailbox = {
  /** Written whole, under a name that follows from the email: a second attempt replaces the first one's file. */
  deliver(message: { emailId: string; returnPath: string; recipient: string; raw: Buffer }): Promise<string>;
  /** Removes what is older than the given time. */
  sweep(olderThanMs: number): Promise<number>;
};

export async function openMailbox(folder: string): Promise<Mailbox> {
  for (const one of [folder, ...["tmp", "new", "cur"].map((part) => join(folder, part))]) await openPrivate(one);
  return {
    async deliver({ emailId, returnPath, recipient, raw }) {
      const name = `${emailId}.${Buffer.from(recipient).toString("base64url").slice(0, 80)}.eml`;
      const draft = join(folder, "tmp", name);
      const file = await open(draft, "w", 0o600);
      try {
        // RFC 5321 §4.4: final delivery notes the return path; the recipient of a blind copy is found in Delivered-To alone.
        await file.writeFile(`Return-Path: <${returnPath}>\r\nDelivered-To: ${recipient}\r\n`);
        await file.writeFile(raw);
      } finally {
        await file.close();
      }
      const path = join(folder, "new", name);
      await rename(draft, path);
      return path;
    },
    async sweep(olderThanMs) {
      let removed = 0;
      for (const part of ["tmp", "new", "cur"]) {
        for (const name of await readdir(join(folder, part))) {
          const path = join(folder, part, name);
          const facts = await stat(path).catch(() => undefined);
          if (!facts || facts.mtimeMs >= olderThanMs) continue;
          await rm(path, { force: true });
          removed++;
        }
      }
      return removed;
    },
  };
}

/** Mail is for its owner alone. A folder of ours from an earlier release is closed; a link or another account's folder is left alone. */
async function openPrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const facts = await lstat(folder);
  if (facts.isDirectory() && facts.uid === process.getuid?.() && (facts.mode & 0o077) !== 0) await chmod(folder, 0o700);
}

const sweepEveryMs = 3_600_000;

/** What is older than content may be leaves the mailbox too; done by the node that fills it. */
export function createSweep(deps: { mailbox: Mailbox; log: Log; keptDays: number; everyMs?: number }) {
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const sweep = async () => {
    try {
      const removed = await deps.mailbox.sweep(Date.now() - deps.keptDays * 86_400_000);
      if (removed > 0) deps.log.info({ removed }, "old messages left the local mailbox");
    } catch (error) {
      deps.log.warn({ err: error }, "the local mailbox could not be swept, will try again");
    }
  };
  return {
    start() {
      round = sweep();
      timer = setInterval(() => {
        round = round.then(sweep);
      }, deps.everyMs ?? sweepEveryMs);
    },
    async stop() {
      clearInterval(timer);
      await round;
    },
  };
}
