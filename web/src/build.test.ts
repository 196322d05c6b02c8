/** The built dashboard: its size budget, and compliance with its Content-Security-Policy. */
import assert from "node:assert/strict";
import { existsSync, globSync } from "node:fs";
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

test("the first view and its font are under 300 kB compressed", async () => {
  const files = referencedFiles();
  assert.ok(files.some((file) => file.endsWith(".js")) && files.some((file) => file.endsWith(".css")));
  const [font] = globSync("assets/inter-latin-wght-*.woff2", { cwd: folder });
  let total = (await readFile(join(folder, font!))).length;
  for (const file of ["index.html", ...files]) total += (await readFile(smallest(file))).length;
  assert.ok(total < budgetBytes, `the first view has ${total} bytes`);
});

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
