/** A folder of migrations for a test: those of the program, and some more after them. */
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { migrationsFolder, readMigrations } from "../../src/store/migration-files.ts";

export type MigrationFolder = {
  folder: URL;
  /** The names of the files after the program's own. */
  names: string[];
  remove(): Promise<void>;
};

export async function laterMigrations(...texts: string[]): Promise<MigrationFolder> {
  const place = await mkdtemp(join(tmpdir(), "posthorn-migrations-"));
  await cp(migrationsFolder, place, { recursive: true });
  const own = (await readMigrations()).length;
  const names = texts.map((_, i) => `${String(own + i + 1).padStart(4, "0")}_later.sql`);
  for (const [i, text] of texts.entries()) await writeFile(join(place, names[i]!), text);
  return {
    folder: pathToFileURL(`${place}/`),
    names,
    remove: () => rm(place, { recursive: true, force: true }),
  };
}

export const ownVersion = (await readMigrations()).length;
