// Compares a generator's output with the files in the checkout, and updates them. Called by generate.ts.
import { glob, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

export interface Generator {
  name: string;
  /** A folder that only this generator writes: any other file in it is stale. */
  folder?: string;
  /** The files by their path in the checkout. Must be deterministic. */
  generate(): Promise<Map<string, string>>;
}

export type Change = { path: string; kind: "missing" | "differs"; content: string } | { path: string; kind: "stale" };

export async function findChanges(top: string, { folder, generate }: Generator): Promise<Change[]> {
  const generated = await generate();
  const changes: Change[] = [];
  for (const [path, content] of generated) {
    const present = await readIfPresent(join(top, path));
    if (present === undefined) changes.push({ path, kind: "missing", content });
    else if (present !== content) changes.push({ path, kind: "differs", content });
  }
  for (const path of folder === undefined ? [] : await listFiles(top, folder)) {
    if (!generated.has(path)) changes.push({ path, kind: "stale" });
  }
  return changes.sort((a, b) => (a.path < b.path ? -1 : 1));
}

export async function applyChanges(top: string, changes: Change[]): Promise<void> {
  for (const change of changes) {
    const path = join(top, change.path);
    if (change.kind === "stale") {
      await rm(path);
    } else {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, change.content);
    }
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function listFiles(top: string, folder: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const entry of glob(`${folder}/**/*`, { cwd: top, withFileTypes: true })) {
    if (entry.isFile()) paths.push(relative(top, join(entry.parentPath, entry.name)));
  }
  return paths;
}
