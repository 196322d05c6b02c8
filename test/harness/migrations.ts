/** Makes a folder with the program's migrations followed by migrations of the test. */
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { migrationsFolder, readMigrations } from "../../src/postgres/migration-files.ts";

export type MigrationFolder = {
  folder: URL;
  /** The file names of the test's migrations. */
  names: string[];
  remove(): Promise<void>;
};

export async function laterMigrations(...texts: string[]): Promise<MigrationFolder> {
  const directory = await mkdtemp(join(tmpdir(), "posthorn-migrations-"));
  await cp(migrationsFolder, directory, { recursive: true });
  const own = (await readMigrations()).length;
  const names = texts.map((_, i) => `${String(own + i + 1).padStart(4, "0")}_later.sql`);
  for (const [i, text] of texts.entries()) await writeFile(join(directory, names[i]!), text);
  return {
    folder: pathToFileURL(`${directory}/`),
    names,
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

export const ownVersion = (await readMigrations()).length;
