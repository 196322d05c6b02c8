/** Every link in the README and the docs leads to a file, and to a heading where it names one. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { anchorsOf, linksOf, pages, root } from "../harness/pages.ts";

const all = pages();

test("links lead to files", () => {
  const broken = all.flatMap((page) =>
    linksOf(page)
      .filter(({ path }) => !existsSync(join(root, path)))
      .map(({ written }) => `${page.path}: ${written}`),
  );
  assert.deepEqual(broken, []);
});

test("anchors lead to headings", () => {
  const anchors = new Map(all.map(({ path, text }) => [path, anchorsOf(text)]));
  const broken = all.flatMap((page) =>
    linksOf(page)
      .filter(({ path, anchor }) => anchor !== "" && anchors.has(path) && !anchors.get(path)!.has(anchor))
      .map(({ written }) => `${page.path}: ${written}`),
  );
  assert.deepEqual(broken, []);
});

test("every page is reached from the README", () => {
  const byPath = new Map(all.map((page) => [page.path, page]));
  const reached = new Set(["README.md"]);
  for (const path of reached) {
    const page = byPath.get(path);
    for (const link of page ? linksOf(page) : []) {
      reached.add(link.path);
      // A link to a folder shows its pages.
      if (!link.path.endsWith(".md"))
        for (const other of byPath.keys()) if (other.startsWith(link.path)) reached.add(other);
    }
  }
  assert.deepEqual(
    all.map(({ path }) => path).filter((path) => !reached.has(path)),
    [],
  );
});
