/** The built page: within its budget, and nothing in it that the policy it is served with would refuse. */
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

/** Every file that the page names: what a browser loads before anything is shown. */
function named(): string[] {
  return [...html.matchAll(/\b(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
}

test("the first view is under 400 kB compressed", async () => {
  const files = named();
  assert.ok(files.some((file) => file.endsWith(".js")) && files.some((file) => file.endsWith(".css")));
  let total = gzipSync(html).length;
  for (const file of files) total += gzipSync(await readFile(join(folder, file))).length;
  assert.ok(total < budgetBytes, `the first view has ${total} bytes`);
});

test("the page has no script of its own text, no handler attributes, and loads from nowhere else", () => {
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)/);
  assert.doesNotMatch(html, /\son\w+=/);
  for (const file of named()) assert.match(file, /^\/[^/]/);
});
