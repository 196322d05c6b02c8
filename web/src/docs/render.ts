/** Renders a Markdown page of the documentation to HTML, with an anchor at every heading as GitHub makes them. Sources are our own files, so
 * their HTML is not filtered; the site's Content-Security-Policy allows no inline scripts anyway. */
import { Marked, type Token, type Tokens } from "marked";
import { pathOf, resolveLink } from "./site.ts";

export type Heading = { level: number; text: string; anchor: string };
/** The text below one heading, for the search. */
export type Part = { heading: string; anchor: string; text: string };
export type Rendered = { title: string; html: string; headings: Heading[]; parts: Part[] };

/** How a block is labelled. Other languages have no label. */
const languages: Record<string, string> = {
  sh: "Shell",
  console: "Shell",
  curl: "curl",
  ts: "TypeScript",
  python: "Python",
  go: "Go",
  php: "PHP",
  ruby: "Ruby",
  json: "JSON",
};

/** `titles` has the title of each page by its path: a link that is written as a file name shows it. */
export function renderPage(path: string, text: string, titles: ReadonlyMap<string, string> = new Map()): Rendered {
  const headings: Heading[] = [];
  const parts: Part[] = [];
  const slugs = new Map<string, number>();
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const plain = plainText(tokens);
        const anchor = unique(slugOf(plain), slugs);
        headings.push({ level: depth, text: plain, anchor });
        const inner = this.parser.parseInline(tokens);
        if (depth === 1) return `<h1 id="${anchor}">${inner}</h1>\n`;
        return `<h${depth} id="${anchor}">${inner} <a class="anchor" href="#${anchor}" aria-label="Link to this section: ${escapeHtml(plain)}">#</a></h${depth}>\n`;
      },
      link({ href, title, tokens }) {
        const named = /^[\w/.-]+\.md$/.test(plainText(tokens)) ? titles.get(pathOf(path, href)) : undefined;
        const inner = named ? escapeHtml(named) : this.parser.parseInline(tokens);
        const target = resolveLink(path, href);
        // A file that is only in the repository.
        if (!target) return inner;
        const rel = /^https?:/.test(target) ? ' rel="noreferrer"' : "";
        return `<a href="${escapeHtml(target)}"${title ? ` title="${escapeHtml(title)}"` : ""}${rel}>${inner}</a>`;
      },
      image: ({ href, text: alt }) =>
        `<img src="${escapeHtml(resolveLink(path, href) ?? href)}" alt="${escapeHtml(alt)}" loading="lazy">`,
      table(token) {
        // A wide table scrolls in its own box, which the keyboard must reach (WCAG 2.1.1).
        const row = (cells: Tokens.TableCell[], tag: "th" | "td") =>
          `<tr>${cells.map((cell) => `<${tag}${tag === "th" ? ' scope="col"' : ""}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`;
        const body = token.rows.map((cells) => row(cells, "td")).join("\n");
        const label = `Table: ${plainText(token.header.flatMap((cell) => [...cell.tokens, comma]))}`;
        return `<div class="wide" tabindex="0" role="region" aria-label="${escapeHtml(label.replace(/, $/, ""))}"><table><thead>${row(token.header, "th")}</thead>\n<tbody>${body}</tbody></table></div>\n`;
      },
      code: ({ text: code, lang }) => renderCode(code, lang ?? ""),
    },
  });
  const tokens = marked.lexer(text);
  const html = marked.parser(tokens).replace(/(<figure class="code.*?<\/figure>\n)+/gs, asTabs);
  collectParts(tokens, headings, parts);
  return { title: headings.find(({ level }) => level === 1)?.text ?? path, html, headings, parts };
}

const comma = { type: "text", raw: ", ", text: ", " } as const;

/** GitHub's anchors: links in Markdown files are written for them. */
function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

function unique(slug: string, used: Map<string, number>): string {
  const count = used.get(slug) ?? 0;
  used.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

/** The text of tokens without markup. */
function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if ("tokens" in token && token.tokens) return plainText(token.tokens);
      return "text" in token ? decode(token.text as string) : "";
    })
    .join("");
}

function renderCode(code: string, lang: string): string {
  if (lang === "mermaid") return renderTransitions(code);
  // In a group of languages, a single call with curl has its own name.
  if (lang === "sh" && code.startsWith("curl ")) return renderCode(code, "curl");
  const label = languages[lang];
  const caption = label ? `<figcaption>${label}</figcaption>` : "";
  const name = label ? `Code: ${label}` : "Code";
  // A long line scrolls, so the keyboard must reach the block.
  return `<figure class="code" data-language="${escapeHtml(lang)}">${caption}<pre tabindex="0" role="region" aria-label="${name}"><code>${escapeHtml(code)}</code></pre></figure>\n`;
}

/** A diagram of states as the list of its transitions: a browser cannot draw it without a large library. */
function renderTransitions(code: string): string {
  const rows = [...code.matchAll(/^\s*(\S+) --> (\S+?)(?:: (.+))?$/gm)].map(([, from, to, event]) => {
    const start = from === "[*]" ? "start" : `<code>${escapeHtml(from!)}</code>`;
    return `<li>${start} <span aria-hidden="true">→</span><span class="hidden"> to </span> <code>${escapeHtml(to!)}</code>${event ? ` <span class="faint">${escapeHtml(event)}</span>` : ""}</li>`;
  });
  return `<ul class="transitions" aria-label="Transitions">${rows.join("")}</ul>\n`;
}

/** Blocks that follow each other in several languages say the same: the script of the site shows one of them at a time. */
function asTabs(figures: string): string {
  const found = [...figures.matchAll(/data-language="(\w*)"/g)].map((match) => match[1]);
  const isSame = found.length > 1 && new Set(found).size === found.length;
  return isSame ? `<div class="languages">\n${figures}</div>\n` : figures;
}

/** Splits the page at its headings. */
function collectParts(tokens: readonly Token[], headings: readonly Heading[], parts: Part[]): void {
  let n = 0;
  for (const token of tokens) {
    if (token.type === "heading") {
      const { text, anchor } = headings[n++]!;
      parts.push({ heading: text, anchor, text: "" });
      continue;
    }
    const part = parts.at(-1);
    if (part) part.text = `${part.text} ${blockText(token)}`.replace(/\s+/g, " ").trim();
  }
}

function blockText(token: Token): string {
  if (token.type === "html" || token.type === "space") return "";
  // Long answers in JSON repeat the names in the tables.
  if (token.type === "code") return /mermaid|json/.test(token.lang ?? "") ? "" : token.text;
  if (token.type === "table") {
    const table = token as Tokens.Table;
    return [table.header, ...table.rows].map((row) => row.map((cell) => plainText(cell.tokens)).join(" ")).join(" ");
  }
  if (token.type === "list") return (token as Tokens.List).items.map((item) => blocksText(item.tokens)).join(" ");
  if ("tokens" in token && token.tokens) return plainText(token.tokens);
  return "text" in token ? decode(token.text as string) : "";
}

function blocksText(tokens: readonly Token[]): string {
  return tokens.map(blockText).join(" ");
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

function decode(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}
