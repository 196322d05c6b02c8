/** The documentation as a site: which Markdown files are pages, their addresses, and the navigation. docs/README.md is the source of the
 * navigation, so that the order in the repository and on the site is the same. build.ts calls it. */
import { dirname, join, normalize } from "node:path/posix";

/** Pages outside the folder docs, which the docs link to. */
const outside: Record<string, string> = { "sdk/README.md": "/docs/sdk", "CHANGELOG.md": "/docs/changelog" };

/** Files that a page shows, such as a drawing. */
const shown = /^docs\/[\w/.-]+\.(svg|webp)$/;

/** The address of a Markdown file, or undefined if it is not part of the documentation. */
export function addressOf(path: string): string | undefined {
  if (path in outside) return outside[path];
  if (!path.startsWith("docs/") || !path.endsWith(".md")) return undefined;
  return `/${path}`.replace(/\/README\.md$|\.md$/, "");
}

export const extraPages = Object.keys(outside);

/** The address that a link in a page leads to, or undefined for a file that is only in the repository. */
export function resolveLink(from: string, target: string): string | undefined {
  if (/^[a-z]+:/.test(target) || target.startsWith("#")) return target;
  const anchor = target.split("#")[1];
  const path = pathOf(from, target);
  if (path === "docs/openapi.json") return "/openapi.json";
  const address = shown.test(path) ? `/${path}` : addressOf(path.replace(/\/$/, "/README.md"));
  return address && (anchor ? `${address}#${anchor}` : address);
}

/** The file that a link leads to, from the root of the checkout. */
export function pathOf(from: string, target: string): string {
  return normalize(join(dirname(from), target.split("#")[0]!));
}

export type NavLink = { address: string; label: string; about: string };
export type NavGroup = { title: string; links: NavLink[] };

/** Reads the groups and their pages from docs/README.md. */
export function readNavigation(text: string): NavGroup[] {
  const groups: NavGroup[] = [];
  for (const line of text.split("\n")) {
    const title = /^## (.+)$/.exec(line)?.[1];
    if (title) groups.push({ title, links: [] });
    const [, label, target, about] = /^- \[([^\]]+)\]\(([^)]+)\): (.+)$/.exec(line) ?? [];
    const address = target && resolveLink("docs/README.md", target);
    if (label && address && about) groups.at(-1)?.links.push({ address, label, about });
  }
  return groups;
}
