/** Builds the documentation with the dashboard: vite.config.ts calls it. Vite builds docs.html as it builds index.html, with hashed scripts,
 * styles and fonts; this plugin then makes one page of it for each Markdown file, and writes the search entries. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { escapeHtml, type Rendered, renderPage } from "./render.ts";
import type { Entry } from "./search.ts";
import { addressOf, extraPages, type NavGroup, readNavigation } from "./site.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

export type DocsPage = Rendered & { path: string; address: string };

/** All pages, the start page first. */
export function readPages(): DocsPage[] {
  const paths = [...globSync("docs/**/*.md", { cwd: root }).map((path) => path.replaceAll("\\", "/")), ...extraPages];
  const texts = new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]));
  const titles = new Map([...texts].map(([path, text]) => [path, /^# (.+)$/m.exec(text)?.[1] ?? path]));
  return paths
    .sort((a, b) => (a === "docs/README.md" ? -1 : b === "docs/README.md" ? 1 : a < b ? -1 : 1))
    .map((path) => ({ path, address: addressOf(path)!, ...renderPage(path, texts.get(path)!, titles) }));
}

/** The search entries. Decisions are for contributors: only their titles can be found. */
export function searchEntries(pages: readonly DocsPage[]): Entry[] {
  return pages.flatMap(({ address, title, parts }) =>
    (address.startsWith("/docs/decisions/") ? parts.slice(0, 1).map((part) => ({ ...part, text: "" })) : parts).map(
      ({ heading, anchor, text }, n) => ({
        page: title,
        heading,
        address: n === 0 ? address : `${address}#${anchor}`,
        text,
      }),
    ),
  );
}

export function docsPlugin(): Plugin {
  return {
    name: "posthorn-docs",
    apply: "build",
    generateBundle: {
      // After Vite has written docs.html.
      order: "post",
      handler(_, bundle) {
        const template = bundle["docs.html"];
        if (template?.type !== "asset") throw new Error("docs.html was not built");
        const pages = readPages();
        const navigation = readNavigation(readFileSync(join(root, "docs/README.md"), "utf8"));
        const entries = JSON.stringify(searchEntries(pages));
        const index = `assets/docs-search-${createHash("sha256").update(entries).digest("hex").slice(0, 8)}.json`;
        const emit = (fileName: string, source: string | Uint8Array) =>
          this.emitFile({ type: "asset", fileName, source });
        emit(index, entries);
        const page = (one: DocsPage) => fill(String(template.source), one, navigation, `/${index}`);
        for (const one of pages)
          emit(one.address === "/docs" ? "docs/index.html" : `${one.address.slice(1)}.html`, page(one));
        emit("docs/404.html", page(notFound));
        for (const path of globSync("docs/**/*.{svg,webp}", { cwd: root })) emit(path, readFileSync(join(root, path)));
        // The server answers with 404 where the router has no page (src/http/files.ts).
        emit("routes.json", JSON.stringify(dashboardRoutes()));
      },
    },
    // Rolldown writes an asset that a plugin deleted from the bundle.
    writeBundle: ({ dir }) => rm(join(dir!, "docs.html")),
  };
}

/** The paths of the dashboard's pages, read from its router. */
export function dashboardRoutes(): string[] {
  const source = readFileSync(join(root, "web/src/router.tsx"), "utf8");
  return [...source.matchAll(/^\s*path: "([^"]+)",$/gm)].map((match) => match[1]!);
}

const notFound: DocsPage = {
  path: "",
  address: "/docs/404",
  title: "Page not found",
  html: `<h1>Page not found</h1>\n<p>There is no documentation page at this address. Search, or start with the <a href="/docs">list of all pages</a>.</p>`,
  headings: [],
  parts: [],
};

function fill(template: string, page: DocsPage, navigation: readonly NavGroup[], index: string): string {
  const links = navigation.flatMap((group) => group.links);
  const at = links.findIndex(({ address }) => address === page.address);
  const values: Record<string, string> = {
    TITLE: escapeHtml(page.title),
    DESCRIPTION: escapeHtml(links[at]?.about ?? "The documentation of Posthorn"),
    INDEX: index,
    NAVIGATION: navigation.map((group) => navGroup(group, page.address)).join(""),
    ARTICLE: page.address === "/docs" ? home(page, navigation) : page.html.replace(/<!--.*?-->\n*/gs, ""),
    NEIGHBORS: at < 0 ? "" : neighbors(links[at - 1], links[at + 1]),
    OUTLINE: outline(page),
  };
  return template.replace(/%([A-Z]+)%/g, (whole, name: string) => values[name] ?? whole);
}

function navGroup({ title, links }: NavGroup, current: string): string {
  const items = links.map(({ address, label }) => {
    const isCurrent = address === current || (address === "/docs/decisions" && current.startsWith(`${address}/`));
    return `<li><a href="${address}"${isCurrent ? ' aria-current="page"' : ""}>${escapeHtml(label)}</a></li>`;
  });
  return `<h2>${escapeHtml(title)}</h2><ul>${items.join("")}</ul>`;
}

/** The start page shows the navigation with a sentence for each page. */
function home({ html, title }: DocsPage, navigation: readonly NavGroup[]): string {
  const intro = /<\/h1>\n(<p>.*?<\/p>)/s.exec(html)?.[1] ?? "";
  const groups = navigation.map(({ title, links }) => {
    const cards = links.map(
      ({ address, label, about }) =>
        `<li><a href="${address}"><b>${escapeHtml(label)}</b><span>${escapeHtml(about[0]!.toUpperCase() + about.slice(1))}</span></a></li>`,
    );
    return `<h2>${escapeHtml(title)}</h2><ul class="cards">${cards.join("")}</ul>`;
  });
  return `<h1>${escapeHtml(title)}</h1>\n${intro}\n${groups.join("\n")}`;
}

function neighbors(before: NavGroup["links"][number] | undefined, after: typeof before): string {
  const link = (to: typeof before, word: string) =>
    to ? `<a href="${to.address}"><span class="faint">${word}</span> ${escapeHtml(to.label)}</a>` : "<span></span>";
  return `<nav class="neighbors" aria-label="Previous and next page">${link(before, "Previous")}${link(after, "Next")}</nav>`;
}

/** The headings of a long page at its side. */
function outline({ headings, address }: DocsPage): string {
  const shown = headings.filter(({ level }) => level === 2);
  if (shown.length < 2 || address === "/docs") return "";
  const items = shown.map(({ text, anchor }) => `<li><a href="#${anchor}">${escapeHtml(text)}</a></li>`);
  return `<nav class="outline" aria-label="On this page"><h2>On this page</h2><ul>${items.join("")}</ul></nav>`;
}
