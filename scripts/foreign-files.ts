/** Selects the test files that touch foreign programs: those that import test/harness/foreign.ts, directly or through other files.
 * `npm test -- --foreign` runs them alone. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const table = normalize("test/harness/foreign.ts");

/** `files` and the result are relative to the checkout, which is the current directory. */
export function foreignFiles(files: readonly string[]): string[] {
  const importers = new Map<string, Set<string>>();
  const read = new Set<string>();
  const waiting = files.map((file) => normalize(file));
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (read.has(file)) continue;
    read.add(file);
    for (const imported of importsOf(file)) {
      importers.set(imported, (importers.get(imported) ?? new Set()).add(file));
      waiting.push(imported);
    }
  }
  const touching = new Set([table]);
  // A set that grows while it is read gives its new members too.
  for (const file of touching) for (const importer of importers.get(file) ?? []) touching.add(importer);
  return files.filter((file) => touching.has(normalize(file)));
}

function importsOf(file: string): string[] {
  // Types are no dependency at run time.
  const text = readFileSync(file, "utf8").replace(/^import type [^;]*;$/gm, "");
  const found = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+\.ts)"/g)].map((match) => match[1]!);
  return found.map((path) => normalize(join(dirname(file), path))).filter((path) => existsSync(path));
}
