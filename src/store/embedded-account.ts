/** Under which account PostgreSQL runs: ours, or, because it refuses root, an unprivileged one. Used by the other embedded-*.ts files. */
import { readFileSync } from "node:fs";
import { lchown, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { EmbeddedError } from "./embedded-error.ts";

/** What spawn takes; undefined stands for "as we are". */
export type RunAs = { uid: number; gid: number };

/**
 * In the range that systemd's list of uids leaves to nobody (60706–61183), below 65536 so that it exists inside a container too.
 * The server needs no entry in /etc/passwd, and an account of its own keeps other daemons that run as `nobody` out of the data.
 */
const ownUid = 60825;
const lastUid = 61183;

/** The owner of what is there goes on; a data directory that belongs to a person is served by that person's account. */
export async function chooseAccount(cluster: string, dataDir: string): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const path of [cluster, dataDir]) {
    const owner = await stat(path).catch(() => undefined);
    if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  const taken = new Set(accounts().map(({ uid }) => uid));
  for (let uid = ownUid; uid <= lastUid; uid++) if (!taken.has(uid)) return { uid, gid: uid };
  return initdbAccount({ uid: ownUid, gid: ownUid });
}

/**
 * initdb, unlike the server, insists on a name for its uid: it runs under an account that has one, in the server's group, and
 * the files are handed over after. Other processes of that account are not in the group and stay outside a 0710 directory.
 */
export function initdbAccount(runAs: RunAs): RunAs {
  const known = accounts();
  if (known.some(({ uid }) => uid === runAs.uid)) return runAs;
  const byName = ["nobody", "postgres", "daemon"].map((name) => known.find((account) => account.name === name));
  const found = byName.find((account) => account !== undefined) ?? known.find(({ uid }) => uid !== 0);
  if (found !== undefined) return { uid: found.uid, gid: runAs.gid };
  const message =
    "PostgreSQL does not run as root and /etc/passwd names no other account. Start Posthorn as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.";
  throw new EmbeddedError("permission", message);
}

function accounts(): { name: string; uid: number; gid: number }[] {
  let text = "";
  try {
    text = readFileSync("/etc/passwd", "utf8");
  } catch {}
  return text.split("\n").flatMap((line) => {
    const [name, , uid, gid] = line.split(":");
    return name && /^\d+$/.test(uid ?? "") && /^\d+$/.test(gid ?? "")
      ? [{ name, uid: Number(uid), gid: Number(gid) }]
      : [];
  });
}

/** Whether the account may pass through every directory down to this one, by their mode bits. */
export async function canEnter(directory: string, account: RunAs): Promise<boolean> {
  for (let path = directory; ; path = dirname(path)) {
    if (!maySearch(await stat(path), account)) return false;
    if (path === dirname(path)) return true;
  }
}

/** Whether the mode bits of this one directory let the account through. */
export function maySearch(found: { mode: number; uid: number; gid: number }, { uid, gid }: RunAs): boolean {
  const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0;
  return ((found.mode >> shift) & 1) === 1;
}

/** chown -R from the top, so that the account that had the tree is shut out before anything below changes hands. */
export async function giveTo(path: string, { uid, gid }: RunAs): Promise<void> {
  await lchown(path, uid, gid);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await giveTo(child, { uid, gid });
    else await lchown(child, uid, gid);
  }
}
