/** The built dashboard: its size budget, and compliance with its Content-Security-Policy. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const budgetBytes = 400_000;
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

test("the first view is under 400 kB compressed", async () => {
  const files = referencedFiles();
  assert.ok(files.some((file) => file.endsWith(".js")) && files.some((file) => file.endsWith(".css")));
  let total = gzipSync(html).length;
  for (const file of files) total += gzipSync(await readFile(join(folder, file))).length;
  assert.ok(total < budgetBytes, `the first view has ${total} bytes`);
});

test("the page has no inline scripts, no event handler attributes, and no resources from other servers", () => {
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)/);
  assert.doesNotMatch(html, /\son\w+=/);
  for (const file of referencedFiles()) assert.match(file, /^\/[^/]/);
});
