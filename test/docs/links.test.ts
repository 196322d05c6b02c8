/** The README and the docs: every link and every named file exists, and prose wraps at 120 characters. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { anchorsOf, codeOf, linksOf, pages, root, withoutBlocks } from "../harness/pages.ts";

const all = pages();

test("every link points to an existing file", () => {
  const broken = all.flatMap((page) =>
    linksOf(page)
      .filter(({ path }) => !existsSync(join(root, path)))
      .map(({ written }) => `${page.path}: ${written}`),
  );
  assert.deepEqual(broken, []);
});

test("every anchor points to an existing heading", () => {
  const anchors = new Map(all.map(({ path, text }) => [path, anchorsOf(text)]));
  const broken = all.flatMap((page) =>
    linksOf(page)
      .filter(({ path, anchor }) => anchor !== "" && anchors.has(path) && !anchors.get(path)!.has(anchor))
      .map(({ written }) => `${page.path}: ${written}`),
  );
  assert.deepEqual(broken, []);
});

test("every page is reachable from the README", () => {
  const byPath = new Map(all.map((page) => [page.path, page]));
  const reached = new Set(["README.md"]);
  for (const path of reached) {
    const page = byPath.get(path);
    for (const link of page ? linksOf(page) : []) {
      reached.add(link.path);
      // A link to a folder covers its pages.
      if (!link.path.endsWith(".md"))
        for (const other of byPath.keys()) if (other.startsWith(link.path)) reached.add(other);
    }
  }
  assert.deepEqual(
    all.map(({ path }) => path).filter((path) => !reached.has(path)),
    [],
  );
});

test("every file of the project that a page names exists", () => {
  const missing = all.flatMap(({ path, text }) =>
    codeOf(text)
      .flatMap(
        (code) =>
          code.match(/(?<![\w./@-])(?:src|test|scripts|bench|web|sdk|proto)\/[\w./-]+\.(?:tsx?|md|sql|proto)\b/g) ?? [],
      )
      .filter((name) => !existsSync(join(root, name)))
      .map((name) => `${path}: ${name}`),
  );
  assert.deepEqual(missing, []);
});

test("lines of prose have at most 120 characters", () => {
  const prose = /^(?!\||<|.*\]\(https?:)/;
  const long = all.flatMap(({ path, text }) =>
    withoutBlocks(text)
      .split("\n")
      .filter((line) => prose.test(line) && line.length > 120)
      .map((line) => `${path}: ${line}`),
  );
  assert.deepEqual(long, []);
});
