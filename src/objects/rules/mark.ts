/** The mark: an object that says which database the objects of a prefix belong to. Decides what a program may do there. */

/** What a database is, as in store/lines.ts. */
export type Owner = { instance: string; cut: string };

export const markName = "posthorn-mark.json";

/** What the store's mark means for this database. */
export type Standing =
  /** The mark names this database: read, write, delete. */
  | "ours"
  /** The mark names another state of this database, before or after a cut of its logs: read and write, delete nothing. */
  | "copy"
  /** The mark names another instance: the store is not used. */
  | "foreign"
  /** No mark, although this database has written one or has objects: the store is not used. */
  | "missing"
  /** No mark yet: write one. */
  | "new"
  /** An object of that name that is not a mark: the store is not used. */
  | "unreadable";

export function standingOf(mark: Buffer | undefined, owner: Owner & { expectsMark: boolean }): Standing {
  if (!mark) return owner.expectsMark ? "missing" : "new";
  const found = readMark(mark);
  if (!found) return "unreadable";
  if (found.instance !== owner.instance) return "foreign";
  return found.cut === owner.cut ? "ours" : "copy";
}

export function writeMark({ instance, cut }: Owner): Buffer {
  const note =
    "Posthorn keeps content of emails under this prefix. This object says for which database. Do not edit or delete it.";
  return Buffer.from(`${JSON.stringify({ posthorn: 1, instance, cut, note }, null, 2)}\n`);
}

export function readMark(mark: Buffer): Owner | undefined {
  try {
    const { posthorn, instance, cut } = JSON.parse(mark.toString("utf8")) as Record<string, unknown>;
    return posthorn === 1 && typeof instance === "string" && typeof cut === "string" ? { instance, cut } : undefined;
  } catch {
    return undefined;
  }
}

export function mayUse(standing: Standing): boolean {
  return standing === "ours" || standing === "copy";
}

/** For operators. */
export const meanings: Record<Standing, string> = {
  ours: "The store belongs to this database.",
  copy: "The store belongs to this instance before a restore or a failover. Objects are read and written, but none is deleted. Check that no other copy of the database is in use, then run `posthorn content adopt`.",
  foreign:
    "The store belongs to another instance. Choose another prefix in POSTHORN_CONTENT_URL. If that instance no longer exists, run `posthorn content adopt`.",
  missing:
    "The store does not have the mark that this database expects. Check the bucket and the prefix in POSTHORN_CONTENT_URL. If the mark was deleted, run `posthorn content adopt`.",
  new: "The store has no mark yet.",
  unreadable:
    "The mark in the store is damaged. Check the bucket and the prefix in POSTHORN_CONTENT_URL. If they are right, run `posthorn content adopt`.",
};
