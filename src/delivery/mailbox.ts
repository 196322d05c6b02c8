/** The local mailbox of capture mode: a Maildir in the data directory that any mail program can open. Nothing leaves the machine. */
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";

export type Mailbox = {
  /** Written whole, under a name that follows from the email: a second attempt replaces the first one's file. */
  deliver(message: { emailId: string; returnPath: string; recipient: string; raw: Buffer }): Promise<string>;
  /** Removes what is older than the given time. */
  sweep(olderThanMs: number): Promise<number>;
};

export async function openMailbox(folder: string): Promise<Mailbox> {
  for (const part of ["tmp", "new", "cur"]) await mkdir(join(folder, part), { recursive: true });
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
