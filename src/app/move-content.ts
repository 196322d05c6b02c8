/** Carries all stored content into object storage or back into the database, while mail flows. Called by posthorn content move. */
import * as emails from "../emails/move-content.ts";
import * as inbound from "../inbound/move-content.ts";
import type { ContentStore } from "../objects/content-store.ts";
import { countObjects, listObjects } from "../objects/store/objects.ts";
import type { Sql } from "../postgres/pool.ts";

export type MoveProgress = { moved: number; bytes: number; share: number | undefined };
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
  const done: MoveProgress = { moved: 0, bytes: 0, share: undefined };
  // On the way to the objects, the number of large parts is known only at the end.
  const total = to === "database" ? (await countObjects(sql)).bytes : undefined;
  const onMoved = (bytes: number) => {
    done.moved++;
    done.bytes += bytes;
    done.share = total && done.bytes / total;
    onProgress?.(done);
  };
  const move = { sql, contents, signal, onMoved };
  if (to === "objects") {
    await emails.moveToObjects(move);
    await inbound.moveToObjects(move);
    return done;
  }
  for (let after: string | undefined; !signal.aborted; ) {
    const page = await listObjects(sql, { after, limit: pageRows });
    if (page.length === 0) break;
    await emails.moveToDatabase(
      move,
      page.filter(({ content }) => content === "emails"),
    );
    await inbound.moveToDatabase(
      move,
      page.filter(({ content }) => content === "inbound"),
    );
    after = page.at(-1)!.id;
  }
  return done;
}
