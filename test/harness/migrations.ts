/** Makes folders of migrations: the program's own followed by those of a test, or only its first ones. */
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

/** The migrations of the program up to a version, for a database as an earlier release left it. */
export async function earlierMigrations(version: number): Promise<Omit<MigrationFolder, "names">> {
  const directory = await mkdtemp(join(tmpdir(), "posthorn-migrations-"));
  for (const { name } of (await readMigrations()).slice(0, version))
    await cp(new URL(name, migrationsFolder), join(directory, name));
  return {
    folder: pathToFileURL(`${directory}/`),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

export const ownVersion = (await readMigrations()).length;
