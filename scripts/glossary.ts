/** Checks file names against docs/glossary.md: no retired words, and a word that belongs to some folders appears in no other. The glossary
 * defines each word once. */
import { globSync, readFileSync } from "node:fs";

type Word = { word: string; folders: string[] };

const text = readFileSync("docs/glossary.md", "utf8");
const owned: Word[] = tableAfter("## Words").flatMap(([word, , folders]) => {
  const names = [...(folders ?? "").matchAll(/`([\w/]+)`/g)].map((match) => match[1]!);
  return names.length > 0 ? [{ word: word!, folders: names }] : [];
});
const retired = new Map(tableAfter("## Retired words").map(([word, instead]) => [word!, instead!]));
const words = tableAfter("## Words").map(([word]) => word!);
const repeated = words.filter((word, i) => words.indexOf(word) !== i);
if (repeated.length > 0) fail(repeated.map((word) => `docs/glossary.md defines "${word}" more than once`));
if (owned.length === 0 || retired.size === 0) fail(["docs/glossary.md has no table of words or of retired words"]);

const files = globSync([
  "src/**/*.ts",
  "web/src/**/*.{ts,tsx}",
  "sdk/src/**/*.ts",
  "test/**/*.ts",
  "scripts/**/*.ts",
  "bench/**/*.ts",
]).filter((file) => !file.includes("/gen/"));
const wrong = files.flatMap((file) => {
  const words = file
    .split("/")
    .at(-1)!
    .replace(/(\.test)?\.tsx?$/, "")
    .split("-");
  return words.flatMap((word) => [
    ...(retired.has(word) ? [`${file}: "${word}" is retired, use ${retired.get(word)}`] : []),
    ...owned.flatMap((one) => (isWord(word, one.word) ? strays(file, one) : [])),
  ]);
});
if (wrong.length > 0) fail(wrong);
process.stdout.write(`${files.length} file names follow the glossary.\n`);

/** The word itself or its plural. */
function isWord(found: string, word: string): boolean {
  return found === word || found === `${word}s`;
}

/** Only in src: tests, pages and benches are named after what they show. */
function strays(file: string, { word, folders }: Word): string[] {
  if (!file.startsWith("src/") || folders.some((folder) => file.startsWith(`src/${folder}/`))) return [];
  return [`${file}: "${word}" belongs to ${folders.join(", ")} (docs/glossary.md)`];
}

function tableAfter(heading: string): string[][] {
  const section = text.split(`${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function fail(lines: string[]): never {
  process.stderr.write(`${lines.join("\n")}\n`);
  process.exit(1);
}
