/** Carries all stored content into object storage or back into the database, while mail flows. Called by posthorn content move. */
import * as emails from "../emails/move-content.ts";
import * as inbound from "../inbound/move-content.ts";
import type { ContentStore } from "../objects/content-store.ts";
import { countObjects, listObjects } from "../objects/store/objects.ts";
import type { Sql } from "../postgres/pool.ts";

/** `lost`: objects that the store no longer has. */
export type MoveProgress = { moved: number; bytes: number; lost: number; share: number | undefined };
export type MoveOptions = {
  sql: Sql;
  contents: ContentStore;
  to: "objects" | "database";
  signal: AbortSignal;
  onProgress?(progress: MoveProgress): void;
};

const pageRows = 50;

/** Returns what has moved. Stopped or killed, it is continued by the next call. */
export async function moveContent({ sql, contents, to, signal, onProgress }: MoveOptions): Promise<MoveProgress> {
  const done: MoveProgress = { moved: 0, bytes: 0, lost: 0, share: undefined };
  // On the way to the objects, the number of large parts is known only at the end.
  const total = to === "database" ? (await countObjects(sql)).bytes : undefined;
  const onMoved = (bytes: number) => {
    done.moved++;
    done.bytes += bytes;
    done.share = total && done.bytes / total;
    onProgress?.(done);
  };
  const onLost = () => void done.lost++;
  const move = { sql, contents, signal, onMoved, onLost };
  try {
    await (to === "objects" ? moveToObjects(move) : moveToDatabase(move));
  } catch (error) {
    // A request in hand that was stopped.
    if (!signal.aborted) throw error;
  }
  return done;
}

type Move = emails.EmailMove;

async function moveToObjects(move: Move): Promise<void> {
  await emails.moveToObjects(move);
  await inbound.moveToObjects(move);
}

async function moveToDatabase(move: Move): Promise<void> {
  for (let after: string | undefined; !move.signal.aborted; ) {
    const page = await listObjects(move.sql, { after, limit: pageRows });
    if (page.length === 0) return;
    const ofEmails = page.filter(({ content }) => content === "emails");
    const ofInbound = page.filter(({ content }) => content === "inbound");
    await emails.moveToDatabase(move, ofEmails);
    await inbound.moveToDatabase(move, ofInbound);
    after = page.at(-1)!.id;
  }
}
