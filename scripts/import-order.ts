/** Checks that every file imports only from its own folder or from folders to its left in the order of the house. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Folders of one step stand side by side and never import each other. */
const order: string[][] = [
  ["ops"],
  ["mail"],
  ["rules"],
  ["smtp", "dns"],
  ["store"],
  ["accept"],
  ["people"],
  ["api", "delivery", "inbound", "domains", "webhooks"],
  ["app"],
];

/** Generated code is the wire's shape: only the rooms that speak it may know it. */
const mayImportGen = new Set(["api", "app", "gen"]);

const step = new Map(order.flatMap((folders, i) => folders.map((folder) => [folder, i] as const)));
const wrong: string[] = [];
const files = globSync("src/**/*.ts");

for (const file of files) {
  const folder = file.split("/")[1]!;
  if (folder === "gen") continue;
  if (!step.has(folder)) wrong.push(`${file}: the folder src/${folder} has no place in the order`);
  for (const target of importsOf(file)) {
    const to = target.split("/")[1]!;
    if (!target.startsWith("src/")) {
      if (!file.endsWith(".test.ts")) wrong.push(`${file} imports ${target}, which is outside src`);
    } else if (to === "gen") {
      if (!mayImportGen.has(folder) && !file.endsWith(".test.ts"))
        wrong.push(`${file} imports generated code; only ${[...mayImportGen].join(", ")} may`);
    } else if (to !== folder && (step.get(to) ?? Number.POSITIVE_INFINITY) >= (step.get(folder) ?? -1)) {
      wrong.push(`${file} imports ${target}: ${to} does not stand to the left of ${folder}`);
    }
  }
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const found = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map((match) => match[1]!);
  return found.map((path) => normalize(join(dirname(file), path)));
}

if (wrong.length > 0) {
  process.stderr.write(`${wrong.join("\n")}\n`);
  process.exit(1);
}
process.stdout.write(`${files.length} files follow the import order.\n`);
