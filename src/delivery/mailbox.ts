/** The local mailbox of capture mode and of test keys: a Maildir in the data directory that any mail program can open. The simulator
 * writes to it; `createSweep` deletes old messages. */
import { chmod, lstat, mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../ops/log.ts";
import type { MessageData } from "../smtp/client/envelope.ts";

export type Mailbox = {
  /** Writes the file atomically and returns its path. Its name depends only on email and recipient, so a second attempt replaces it. */
  deliver(message: CapturedMessage): Promise<string>;
  /** Removes messages older than this, and those of deleted emails, and returns how many. */
  sweep(keptMs: number, findExisting?: FindExisting): Promise<number>;
};

/** Of these ids of emails, those that the database has. */
export type FindExisting = (emailIds: readonly string[]) => Promise<ReadonlySet<string>>;

/** The file of a message is written before its result is stored, so a new file says nothing about the email. */
const notYetStoredMs = 3_600_000;
const idsPerQuery = 500;

/** `prefix`: the header fields of this recipient's copy, in front of the message. */
export type CapturedMessage = {
  emailId: string;
  returnPath: string;
  recipient: string;
  prefix: string;
  raw: MessageData;
};

/** `serviceMs` dates the files: by this machine's clock, a jump ahead would let the next sweep remove all of them. */
export async function openMailbox(folder: string, serviceMs: () => number): Promise<Mailbox> {
  for (const one of [folder, ...["tmp", "new", "cur"].map((part) => join(folder, part))]) await openPrivate(one);
  return {
    async deliver({ emailId, returnPath, recipient, prefix, raw }) {
      const name = `${emailId}.${Buffer.from(recipient).toString("base64url").slice(0, 80)}.eml`;
      const draft = join(folder, "tmp", name);
      const file = await open(draft, "w", 0o600);
      try {
        // RFC 5321 §4.4: final delivery records the return path. The recipient of a blind copy appears in Delivered-To only.
        await file.writeFile(`Return-Path: <${returnPath}>\r\nDelivered-To: ${recipient}\r\n${prefix}`);
        if (Buffer.isBuffer(raw)) await file.writeFile(raw);
        else for await (const { bytes } of raw.read()) await file.writeFile(bytes);
      } finally {
        await file.close();
      }
      const seconds = serviceMs() / 1000;
      await utimes(draft, seconds, seconds);
      const path = join(folder, "new", name);
      await rename(draft, path);
      return path;
    },
    async sweep(keptMs, findExisting) {
      const nowMs = serviceMs();
      const kept: { path: string; emailId: string }[] = [];
      let removed = 0;
      for (const part of ["tmp", "new", "cur"]) {
        for (const name of await readdir(join(folder, part))) {
          const path = join(folder, part, name);
          const stats = await stat(path).catch(() => undefined);
          if (!stats) continue;
          const emailId = /^em_([0-9a-f-]{36})\./.exec(name)?.[1];
          if (stats.mtimeMs >= nowMs - keptMs) {
            if (emailId && stats.mtimeMs < nowMs - notYetStoredMs) kept.push({ path, emailId });
            continue;
          }
          await rm(path, { force: true });
          removed++;
        }
      }
      for (let i = 0; findExisting && i < kept.length; i += idsPerQuery) {
        const some = kept.slice(i, i + idsPerQuery);
        const existing = await findExisting([...new Set(some.map(({ emailId }) => emailId))]);
        const gone = some.filter(({ emailId }) => !existing.has(emailId));
        for (const { path } of gone) await rm(path, { force: true });
        removed += gone.length;
      }
      return removed;
    },
  };
}

/** Only the owner may read mail. Tightens the mode of a folder that an earlier release created, but leaves symbolic links and folders of
 * other accounts unchanged. */
async function openPrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const stats = await lstat(folder);
  if (stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o077) !== 0) await chmod(folder, 0o700);
}

const sweepEveryMs = 3_600_000;

/** Deletes messages that are older than the content retention period, and those of emails that were deleted with their workspace or person.
 * Every node that delivers sweeps its own mailbox. */
export function createSweep(deps: {
  mailbox: Mailbox;
  log: Log;
  keptDays: number;
  findExisting?: FindExisting;
  everyMs?: number;
}) {
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const sweep = async () => {
    try {
      const removed = await deps.mailbox.sweep(deps.keptDays * 86_400_000, deps.findExisting);
      if (removed > 0) deps.log.info({ removed }, "removed old messages from the local mailbox");
    } catch (error) {
      deps.log.warn({ err: error }, "cannot remove old messages from the local mailbox; the next sweep will retry");
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
