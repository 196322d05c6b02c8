/** The built dashboard: its size budget, and compliance with its Content-Security-Policy. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const budgetBytes = 300_000;
let folder: string;
let html: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-web-"));
  await build({ root, logLevel: "error", build: { outDir: folder, emptyOutDir: true } });
  html = await readFile(join(folder, "index.html"), "utf8");
});

after(() => rm(folder, { recursive: true, force: true }));

/** Every file that index.html references: the files that a browser loads before the first view. */
function referencedFiles(): string[] {
  return [...html.matchAll(/\b(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
}

/** A chunk with all chunks that it imports before it runs. */
function withImports(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const code = readFileSync(join(folder, file), "utf8");
  for (const match of code.matchAll(/(?:\bfrom|\bimport)\s*"\.\/([^"]+\.js)"/g))
    withImports(`assets/${match[1]}`, found);
  return found;
}

function assets(pattern: string): string[] {
  const files = globSync(`assets/${pattern}`, { cwd: folder });
  assert.ok(files.length > 0, `the build has no ${pattern}`);
  return files;
}

/** The pages that people open first: the chunks that the frame loads for them. */
const firstViews = { "sign-in": ["welcome"], overview: ["overview-page"], guide: ["overview-page", "guide"] };

for (const [view, chunks] of Object.entries(firstViews)) {
  test(`the ${view} and its font are under 300 kB compressed`, async () => {
    const referenced = referencedFiles();
    assert.ok(referenced.some((file) => file.endsWith(".js")) && referenced.some((file) => file.endsWith(".css")));
    const files = new Set(["index.html", ...referenced.map((file) => file.slice(1))]);
    for (const chunk of chunks) {
      const found = assets(`${chunk}-*.js`).flatMap((file) => [...withImports(file)]);
      for (const file of [...found, ...globSync(`assets/${chunk}-*.css`, { cwd: folder })]) files.add(file);
    }
    let total = (await readFile(join(folder, assets("inter-latin-wght-*.woff2")[0]!))).length;
    for (const file of files) total += (await readFile(smallest(file))).length;
    assert.ok(total > 150_000 && total < budgetBytes, `the ${view} has ${total} bytes`);
  });
}

/** The file that a browser loads: the compressed copy, except for the few small files that have none. */
function smallest(file: string): string {
  const copy = join(folder, `${file}.br`);
  return existsSync(copy) ? copy : join(folder, file);
}

test("the compressed copies have the content of their files", async () => {
  const copies = globSync("**/*.br", { cwd: folder });
  assert.ok(copies.length > 10);
  for (const copy of copies) {
    const packed = await readFile(join(folder, copy));
    assert.deepEqual(brotliDecompressSync(packed), await readFile(join(folder, copy.slice(0, -3))), copy);
  }
});

test("no style loads a data: URL, which the Content-Security-Policy blocks", async () => {
  for (const file of globSync("**/*.css", { cwd: folder }))
    assert.doesNotMatch(await readFile(join(folder, file), "utf8"), /url\(["']?data:(?!image)/, file);
});

test("the page has no inline scripts, no event handler attributes, and no resources from other servers", () => {
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)/);
  assert.doesNotMatch(html, /\son\w+=/);
  for (const file of referencedFiles()) assert.match(file, /^\/[^/]/);
});
