/** No code in the docs without a test that runs it: a new block, or a page with blocks of another language, must be given to one. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { blocksOf, codeOf, pages, root } from "../harness/pages.ts";

/** Page and language, and who runs such blocks. Within a page, that test counts or names them. */
const runBy: Record<string, string> = {
  "README.md sh": "test/docs/readme-tour.test.ts",
  "README.md json": "test/docs/readme-tour.test.ts",
  "README.md console": "test/docs/readme-tour.test.ts",
  "README.md ts": "test/docs/readme-tour.test.ts",
  "sdk/README.md sh": "sdk/test/package.test.ts",
  "sdk/README.md ts": "sdk/test/package.test.ts",
  "docs/events.md sh": "test/journeys/stream-docs.test.ts",
  "docs/events.md console": "test/journeys/stream-docs.test.ts",
  "docs/webhooks.md sh": "test/docs/snippets.test.ts",
  "docs/webhooks.md json": "test/docs/snippets.test.ts",
  "docs/webhooks.md ts": "test/docs/snippets.test.ts",
  "docs/webhooks.md python": "test/docs/snippets.test.ts",
  "docs/inbound.md sh": "test/docs/snippets.test.ts",
  "docs/people.md sh": "test/docs/snippets.test.ts",
  "docs/delivery.md sh": "test/docs/snippets.test.ts",
  "docs/operate.md sh": "test/docs/snippets.test.ts",
  // npm scripts, which exist: running all tests from a test would be too much of it.
  "docs/dashboard.md sh": "test/docs/commands.test.ts",
  // Made from the transition tables that the program uses; compared by npm run check.
  "docs/states.md mermaid": "scripts/generators/states.ts",
};

test("every code block of the docs is run by a test", () => {
  const without = new Set<string>();
  for (const { path, text } of pages())
    for (const { language } of blocksOf(text)) {
      const which = `${path} ${language}`;
      const isReference = path.startsWith("docs/reference/") && ["sh", "json"].includes(language);
      // A block without a language is no program: a piece of a zone, a list of files.
      if (language !== "" && !isReference && !(which in runBy)) without.add(which);
    }
  assert.deepEqual([...without], [], "give these to a test, and name it here");
  for (const path of Object.values(runBy)) assert.ok(existsSync(join(root, path)), path);
});

test("every file of the checkout that the docs name is there", () => {
  const folders = "src|test|scripts|sdk|web|bench|proto|deploy|docs|bin";
  const named = new RegExp(`^(?:${folders})/[\\w./-]+\\.(?:ts|tsx|js|md|json|sql|service|txt|proto|py)$`);
  const missing = pages().flatMap(({ path, text }) =>
    codeOf(text)
      .flatMap((snippet) => snippet.split(/[\s,;()]+/))
      .filter((word) => named.test(word) && !existsSync(join(root, word)))
      .map((word) => `${path}: ${word}`),
  );
  assert.deepEqual(missing, []);
});
