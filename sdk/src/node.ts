/** The part of the package that needs Node: a cursor store in a file. Imported as "posthorn/node", so browser bundles exclude it. */
import { mkdir, open, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { checkString } from "./check.ts";
import type { CursorStore } from "./cursor-store.ts";
import { PosthornError, reasonOf } from "./error.ts";

/**
 * Stores the cursor of one stream in a file, and the id of its event in a second one with the suffix `.event`. Saves are atomic: after a
 * crash the file contains a complete cursor.
 */
export function fileCursorStore(path: string): CursorStore {
  checkString(path, "path");
  const eventPath = `${path}.event`;
  return {
    async load() {
      const text = await readIfExists(path);
      if (text === undefined) return undefined;
      if (!/^\d+(-\w+)?$/.test(text.trim()))
        throw new PosthornError(
          "data_loss",
          `${path} does not contain a cursor. Delete the file to start with the oldest stored event.`,
        );
      return text.trim();
    },
    async loadEventId() {
      const [cursor, eventId] = ((await readIfExists(eventPath)) ?? "").trim().split(" ");
      // After a crash the two files may be of different saves.
      return cursor !== "" && cursor === (await readIfExists(path))?.trim() ? eventId : undefined;
    },
    async save(cursor, eventId) {
      try {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(eventPath, eventId ? `${cursor} ${eventId}\n` : "");
        await replaceFile(path, `${cursor}\n`);
      } catch (cause) {
        throw unusable(path, cause);
      }
    },
  };
}

async function replaceFile(path: string, text: string): Promise<void> {
  const next = `${path}.next`;
  const file = await open(next, "w");
  try {
    await file.writeFile(text);
    // Without fsync, the rename may reach the disk before the content, and a power failure would leave an empty file.
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(next, path);
}

async function readIfExists(path: string): Promise<string | undefined> {
  return await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw unusable(path, error);
  });
}

/** The code ends a stream: reconnecting does not help. */
function unusable(path: string, cause: unknown): PosthornError {
  return new PosthornError("failed_precondition", `The cursor file ${path} cannot be used: ${reasonOf(cause)}.`, {
    cause,
  });
}
