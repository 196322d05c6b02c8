/** What only Node can do: a cursor store in a file. Imported as "posthorn/node", so that browsers never see it. */
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import type { CursorStore } from "./cursor-store.ts";
import { PosthornError } from "./error.ts";

/** Keeps the place of one stream in a file of its own. The file always holds a whole cursor, whatever the process dies of. */
export function fileCursorStore(path: string): CursorStore {
  return {
    async load() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      if (text === undefined) return undefined;
      if (!/^\d+$/.test(text.trim()))
        throw new PosthornError("data_loss", `${path} holds no cursor. Delete the file to start from the beginning.`);
      return text.trim();
    },
    async save(cursor) {
      await mkdir(dirname(path), { recursive: true });
      const next = `${path}.next`;
      const file = await open(next, "w");
      try {
        await file.writeFile(`${cursor}\n`);
        // Without it the rename may reach the disk before the content, and a power cut would leave an empty file.
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(next, path);
    },
  };
}
