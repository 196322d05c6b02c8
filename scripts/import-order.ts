/** Checks the layout of src: the order of folders, the three kinds of files in a noun (service, store, rules), SQL, generated code, uses of
 * the machine's clock, the length of files, the files that comments name and the map in
 * CONTRIBUTING.md. No two files of the project import each other, directly or through others. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** A file imports from its own folder and from folders above it in this list. */
const order = [
  "ops",
  "shares",
  "dns",
  "mail",
  "smtp",
  "postgres",
  "objects",
  "http",
  "audit",
  "quotas",
  "keys",
  "workspaces",
  "events",
  "suppressions",
  "domains",
  "reports",
  "emails",
  "delivery",
  "deliverability",
  "queue",
  "inbound",
  "submission",
  "webhooks",
  "stats",
  "people",
  "operators",
  "app",
];

/** What rules may use: they decide from arguments alone, so nothing here reads a socket, a file, a clock or the database. */
const pureFiles =
  /^src\/(mail\/|ops\/(problem|state-machine|csv)\.ts|dns\/(name|record|site|address-guard)\.ts|smtp\/client\/evidence\.ts)/;
const pureModules = new Set(["node:crypto", "node:net", "ipaddr.js", "tldts"]);
/** Stores read and write rows; of a call they know only who makes it. */
const hiddenFromStores = /^src\/(http\/(?!caller\.ts)|app\/)/;
const mayHoldSql = /^src\/postgres\/|\/store\.ts$|\/store\//;
const mayImportGen = /^src\/(http|app)\/|\/(service|wire)\.ts$/;

/** The machine's clock may jump. Durations come from performance.now(), and wall time from the database through ops/clock.ts. These files need
 * the machine's own time: log lines, commands, the name of a file, and the times of files. */
const mayReadMachineClock =
  /^src\/(ops\/(clock|log)\.ts|app\/commands\/|delivery\/journal\.ts|postgres\/embedded\/lock\.ts)/;

const maxLines = 400;

type Kind = "service" | "store" | "rules" | "other";
type Import = { path: string; external: boolean };

const files = globSync("src/**/*.ts").filter((file) => !file.startsWith("src/gen/"));
const sources = files.filter((file) => !file.endsWith(".test.ts"));
const others = globSync("{test,bench,scripts,sdk,web}/**/*.{ts,tsx}", {
  exclude: ["**/node_modules/**", "**/dist/**"],
});
const graph = new Map([...files, ...others].map((file) => [file, importsOf(file)]));
const wrong = [
  ...sources.flatMap(orderFaults),
  ...sources.flatMap(kindFaults),
  ...sources.flatMap(sqlFaults),
  ...sources.flatMap(clockFaults),
  ...findCycles([...files, ...others]),
  ...sources.flatMap(lengthFaults),
  ...sources.flatMap(mentionFaults),
  ...mapFaults(),
];

if (wrong.length > 0) {
  process.stderr.write(`${wrong.join("\n")}\n`);
  process.exit(1);
}
process.stdout.write(`${files.length} files follow the layout of src.\n`);

function orderFaults(file: string): string[] {
  const folder = folderOf(file);
  if (!order.includes(folder))
    return [`${file}: src/${folder} is not in the order of folders in scripts/import-order.ts`];
  return graph.get(file)!.flatMap(({ path, external }) => {
    if (external) return [];
    if (!path.startsWith("src/")) return [`${file} imports ${path}, which is outside src`];
    if (path.startsWith("src/gen/"))
      return mayImportGen.test(file)
        ? []
        : [`${file} imports generated code; only http, app, service.ts and wire.ts may`];
    if (order.indexOf(folderOf(path)) <= order.indexOf(folder)) return [];
    return [`${file} imports ${path}: ${folderOf(path)} comes after ${folder} in the order of folders`];
  });
}

function kindFaults(file: string): string[] {
  const kind = kindOf(file);
  return graph.get(file)!.flatMap(({ path, external }) => {
    const target = external ? "other" : kindOf(path);
    if (kind === "rules" && !(external ? pureModules.has(path) : target === "rules" || pureFiles.test(path)))
      return [`${file} imports ${path}: rules are pure and import only rules and formats`];
    if (kind === "store" && (target === "service" || hiddenFromStores.test(path)))
      return [`${file} imports ${path}: a store knows nothing of calls`];
    if (target === "service" && kind !== "service" && folderOf(file) !== "app")
      return [`${file} imports ${path}: only app and other services import a service`];
    return [];
  });
}

function sqlFaults(file: string): string[] {
  if (mayHoldSql.test(file)) return [];
  const found = /\b(?:sql|tx)(?:<[^`;]*>)?`|\.unsafe\(|\bpool\.query\(/.exec(readFileSync(file, "utf8"));
  return found ? [`${file} contains SQL (${found[0]}); SQL belongs in postgres/ and in a noun's store`] : [];
}

function clockFaults(file: string): string[] {
  if (mayReadMachineClock.test(file)) return [];
  const found = /\bDate\.now\b|\bnew Date\(\)/.exec(readFileSync(file, "utf8"));
  return found
    ? [
        `${file} reads the machine's clock (${found[0]}), which may jump; use performance.now() or the Clock of ops/clock.ts`,
      ]
    : [];
}

function lengthFaults(file: string): string[] {
  const lines = readFileSync(file, "utf8").split("\n").length - 1;
  return lines > maxLines ? [`${file} has ${lines} lines, more than ${maxLines}: look for the second noun in it`] : [];
}

/** A comment names a file by its name, or by its name with folders. A renamed file is renamed in comments too. */
function mentionFaults(file: string): string[] {
  const comments = readFileSync(file, "utf8").matchAll(/^\s*(?:\/\*\*|\*|\/\/) .*$/gm);
  const names = [...comments].flatMap(([line]) => line.match(/(?<![\w*.<-])[\w./-]*\w\.tsx?\b/g) ?? []);
  return names.flatMap((name) => {
    const ending = `/${name.replace(/^(?:\.\.?\/)+/, "")}`;
    return [...graph.keys()].some((path) => `/${path}`.endsWith(ending))
      ? []
      : [`${file}: a comment names ${name}, which does not exist`];
  });
}

/** The map of folders in CONTRIBUTING.md has the same order, and the files to start with exist. */
function mapFaults(): string[] {
  const rows = readFileSync("CONTRIBUTING.md", "utf8").matchAll(/^\| `(\w+)` \|[^|]*\|([^|]*)\|$/gm);
  const map = [...rows].map(([, folder, start]) => ({ folder: folder!, start: start!.match(/[\w./-]+\.ts/g) ?? [] }));
  const missing = map.flatMap(({ folder, start }) =>
    start
      .filter((name) => !graph.has(`src/${folder}/${name}`))
      .map((name) => `CONTRIBUTING.md: src/${folder}/${name} does not exist`),
  );
  if (map.map(({ folder }) => folder).join() === order.join()) return missing;
  return [...missing, `CONTRIBUTING.md: the map of folders must list, in this order: ${order.join(", ")}`];
}

/** Finds each import cycle once, including cycles of type-only imports. */
function findCycles(all: readonly string[]): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const start = path.indexOf(file);
    if (start >= 0) cycles.push(`import cycle: ${[...path.slice(start), file].join(" > ")}`);
    if (start >= 0 || done.has(file)) return;
    path.push(file);
    for (const { path: next, external } of graph.get(file) ?? []) if (!external) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of all) visit(file);
  return cycles;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, "utf8");
  return [
    ...text.matchAll(/^(?:import|export)\b[^;"]*?\bfrom\s*"([^"]+)"|\bimport\(\s*"([^"]+)"|^import\s*"([^"]+)"/gm),
  ].map((match) => {
    const name = (match[1] ?? match[2] ?? match[3])!;
    const external = !name.startsWith(".");
    return { external, path: external ? name : normalize(join(dirname(file), name)) };
  });
}

function folderOf(file: string): string {
  return file.split("/")[1]!;
}

/** Only nouns have kinds: `postgres/`, `http/` and the folders before them are machinery. */
function kindOf(file: string): Kind {
  if (order.indexOf(folderOf(file)) <= order.indexOf("http")) return "other";
  return (/\/(service|store|rules)(?:\.ts|\/)/.exec(file)?.[1] as Kind | undefined) ?? "other";
}
