// Writes the code of docs/quickstart.md from web/src/docs/snippets.ts, so that the page and the dashboard show the same.
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { languages, type SnippetValues } from "../../web/src/docs/snippets.ts";

export const name = "quickstart";

const root = resolve(import.meta.dirname, "../..");
const page = "docs/quickstart.md";

/** What the page shows: the domain that a new instance can send from. */
export const shownValues: SnippetValues = {
  origin: "http://127.0.0.1:8825",
  from: "hello@example.test",
  to: "delivered@example.test",
  subject: "Hello",
  body: "It works.",
};

export async function generate(): Promise<Map<string, string>> {
  const text = await readFile(join(root, page), "utf8");
  return new Map([
    [page, text.replace(/(<!-- snippets -->\n).*(<!-- end -->)/s, (_, start, end) => start + blocks() + end)],
  ]);
}

function blocks(): string {
  const fence = (id: string) => (id === "curl" ? "sh" : id);
  return languages.map(({ id, write }) => `\n\`\`\`${fence(id)}\n${write(shownValues)}\n\`\`\`\n`).join("") + "\n";
}
