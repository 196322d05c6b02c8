/** Reads the documentation pages with their code blocks and links, for tests that compare them with the program. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export type Page = { path: string; text: string };
export type Block = { language: string; text: string };

export function pages(): Page[] {
  const paths = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "sdk/README.md",
    ...globSync("docs/**/*.md", { cwd: root }).sort(),
  ];
  return paths.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

export function blocksOf(text: string): Block[] {
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, body]) => ({
    language: language!,
    text: body!,
  }));
}

/** All code of a page: blocks and inline code. */
export function codeOf(text: string): string[] {
  const inline = withoutBlocks(text).matchAll(/`([^`\n]+)`/g);
  return [
    ...blocksOf(text).map((block) => block.text.replaceAll("\\\n", " ")),
    ...[...inline].map((match) => match[1]!),
  ];
}

export function withoutBlocks(text: string): string {
  return text.replace(/^```\w*\n.*?^```$/gms, "");
}

/** The targets of a page's links into the checkout, relative to the root of the checkout. */
export function linksOf({ path, text }: Page): { written: string; path: string; anchor: string }[] {
  const targets = [
    ...withoutBlocks(text)
      .replace(/`[^`\n]+`/g, "")
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map((match) => match[1]!);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((written) => {
      const [file = "", anchor = ""] = written.split("#");
      return { written, path: file === "" ? path : normalize(join(dirname(path), file)), anchor };
    });
}

/** The anchors that GitHub generates for the headings of a page. */
export function anchorsOf(text: string): Set<string> {
  const slugs = [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replace(/[^\p{L}\p{N}_\- ]/gu, "")
      .replaceAll(" ", "-"),
  );
  return new Set(slugs);
}
