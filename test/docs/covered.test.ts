/** Every code block in the docs is run by a test. Assign new blocks, or pages with blocks in another language, to a test here. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { blocksOf, codeOf, pages, root } from "../harness/pages.ts";

/** For each page and language, the file that runs the blocks. That test counts or names the blocks of the page. */
const runBy: Record<string, string> = {
  "README.md sh": "test/docs/readme-tour.test.ts",
  "README.md json": "test/docs/readme-tour.test.ts",
  "README.md console": "test/docs/readme-tour.test.ts",
  "README.md ts": "test/docs/readme-tour.test.ts",
  "sdk/README.md sh": "sdk/test/package.test.ts",
  "sdk/README.md ts": "sdk/test/package.test.ts",
  "sdk/README.md tsx": "sdk/test/package.test.ts",
  "docs/domains.md sh": "test/docs/snippets.test.ts",
  "docs/events.md sh": "test/events/stream-docs.test.ts",
  "docs/events.md console": "test/events/stream-docs.test.ts",
  "docs/preflight.md sh": "test/deliverability/docs.test.ts",
  "docs/quickstart.md sh": "test/docs/quickstart.test.ts",
  "docs/quickstart.md ts": "test/docs/quickstart.test.ts",
  "docs/quickstart.md python": "test/docs/quickstart.test.ts",
  "docs/quickstart.md go": "test/docs/quickstart.test.ts",
  "docs/quickstart.md php": "test/docs/quickstart.test.ts",
  "docs/quickstart.md ruby": "test/docs/quickstart.test.ts",
  "docs/keys.md sh": "test/keys/commands.test.ts",
  "docs/webhooks.md sh": "test/docs/snippets.test.ts",
  "docs/webhooks.md json": "test/docs/snippets.test.ts",
  "docs/webhooks.md ts": "test/docs/snippets.test.ts",
  "docs/webhooks.md python": "test/docs/snippets.test.ts",
  "docs/inbound.md sh": "test/docs/snippets.test.ts",
  "docs/smtp.md sh": "test/submission/clients.test.ts",
  "docs/smtp.md ts": "test/submission/clients.test.ts",
  "docs/smtp.md python": "test/submission/clients.test.ts",
  "docs/smtp.md php": "test/submission/clients.test.ts",
  "docs/smtp.md ruby": "test/submission/clients.test.ts",
  "docs/unsubscribe.md sh": "test/suppressions/unsubscribe-docs.test.ts",
  "docs/people.md sh": "test/docs/snippets.test.ts",
  "docs/audit.md sh": "test/docs/snippets.test.ts",
  "docs/delivery.md sh": "test/docs/snippets.test.ts",
  "docs/operate.md sh": "test/docs/snippets.test.ts",
  // The faults about Patroni run with these settings.
  "docs/operate.md yaml": "test/harness/patroni.ts",
  "docs/storage.md sh": "test/objects/moves.test.ts",
  "docs/command-line.md sh": "test/docs/snippets.test.ts",
  // The blocks are npm scripts; commands.test.ts checks that they exist, because a test cannot run all tests.
  "CONTRIBUTING.md sh": "test/docs/commands.test.ts",
  "docs/dashboard.md sh": "test/docs/commands.test.ts",
  // Generated from the transition tables of the program; npm run check compares it.
  "docs/states.md mermaid": "scripts/generators/states.ts",
};

test("every code block of the docs is run by a test", () => {
  const unassigned = new Set<string>();
  for (const { path, text } of pages())
    for (const { language } of blocksOf(text)) {
      const pageAndLanguage = `${path} ${language}`;
      const isReference = path.startsWith("docs/reference/") && ["sh", "json"].includes(language);
      // A block without a language is not code: part of a zone, a list of files.
      if (language !== "" && !isReference && !(pageAndLanguage in runBy)) unassigned.add(pageAndLanguage);
    }
  assert.deepEqual([...unassigned], [], "assign these blocks to a test in runBy");
  for (const path of Object.values(runBy)) assert.ok(existsSync(join(root, path)), path);
});

test("every file that the docs name exists", () => {
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
