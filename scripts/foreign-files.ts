/** Selects the test files that use foreign programs: files that import test/harness/foreign.ts, directly or through other files.
 * Called by scripts/test.ts for `npm test -- --foreign`. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const table = normalize("test/harness/foreign.ts");

/** `files` and the result are relative to the checkout, which is the current directory. */
export function foreignFiles(files: readonly string[]): string[] {
  const importers = new Map<string, Set<string>>();
  const read = new Set<string>();
  const unread = files.map((file) => normalize(file));
  for (let file = unread.pop(); file !== undefined; file = unread.pop()) {
    if (read.has(file)) continue;
    read.add(file);
    for (const imported of importsOf(file)) {
      importers.set(imported, (importers.get(imported) ?? new Set()).add(file));
      unread.push(imported);
    }
  }
  const dependents = new Set([table]);
  // Iterating a Set also visits members that are added during the iteration.
  for (const file of dependents) for (const importer of importers.get(file) ?? []) dependents.add(importer);
  return files.filter((file) => dependents.has(normalize(file)));
}

function importsOf(file: string): string[] {
  // Type-only imports are not dependencies at run time.
  const text = readFileSync(file, "utf8").replace(/^import type [^;]*;$/gm, "");
  const found = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+\.ts)"/g)].map((match) => match[1]!);
  return found.map((path) => normalize(join(dirname(file), path))).filter((path) => existsSync(path));
}
