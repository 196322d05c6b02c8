/** Carries all stored content into object storage or back into the database, while mail flows. Called by posthorn content move. */
import * as emails from "../emails/move-content.ts";
import * as inbound from "../inbound/move-content.ts";
import type { ContentStore } from "../objects/content-store.ts";
import { createPatience, type PatienceOptions } from "../objects/patience.ts";
import { countObjects, listObjects } from "../objects/store/objects.ts";
import { StoreError, storeOutages } from "../objects/store-error.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";

/** `lost`: objects that the store no longer has. `waitsFor`: the state of a store that is away. */
export type MoveProgress = {
  moved: number;
  bytes: number;
  lost: number;
  share: number | undefined;
  waitsFor: string | undefined;
};
export type MoveOptions = {
  sql: Sql;
  contents: ContentStore;
  to: "objects" | "database";
  signal: AbortSignal;
  onProgress?(progress: MoveProgress): void;
  patience?: Pick<PatienceOptions, "forMs" | "pauseMs">;
};

const pageRows = 50;

/** Returns what has moved. Stopped, failed or killed, it is continued by the next call. */
export async function moveContent({
  sql,
  contents,
  to,
  signal,
  onProgress,
  patience,
}: MoveOptions): Promise<MoveProgress> {
  const done: MoveProgress = { moved: 0, bytes: 0, lost: 0, share: undefined, waitsFor: undefined };
  // On the way to the objects, the number of large parts is known only at the end.
  const total = to === "database" ? (await countObjects(sql)).bytes : undefined;
  const onMoved = (bytes: number) => {
    done.moved++;
    done.bytes += bytes;
    done.share = total && done.bytes / total;
    done.waitsFor = undefined;
    onProgress?.(done);
  };
  const onLost = () => void done.lost++;
  const onWait = (state: string) => {
    done.waitsFor = state;
    onProgress?.(done);
  };
  const patiently = createPatience({ contents, signal, onWait, ...patience });
  const move = { sql, contents, signal, patiently, onMoved, onLost };
  try {
    await (to === "objects" ? moveToObjects(move) : moveToDatabase(move));
  } catch (error) {
    // A request in hand that was stopped.
    if (!signal.aborted) throw error instanceof StoreError ? interrupted(error, done.moved, to) : error;
  }
  return done;
}

function interrupted(error: StoreError, moved: number, to: MoveOptions["to"]): Problem {
  const { problem, fix } = storeOutages[error.kind];
  const message = `${problem}: ${error.message}. ${fix} ${moved} parts have moved and stay where they are. To continue, run posthorn content move --to ${to} again.`;
  return new Problem("unavailable", message, { cause: error });
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
