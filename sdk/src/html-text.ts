/**
 * Makes the plain-text part of an email from its HTML. email-request.ts calls it when an email has no text. It keeps what a reader
 * needs: paragraphs, lists, links with their address, image descriptions, quotes. It leaves out hidden elements such as preview texts.
 */
import { decodeEntities } from "./html-entities.ts";
import { attributeOf, type Tag, tokensOf } from "./html-tags.ts";

/** Elements that begin on a new line, with the number of line breaks before and after them. */
const blocks: ReadonlyMap<string, number> = new Map([
  ..."p h1 h2 h3 h4 h5 h6 ul ol dl blockquote pre table figure hr".split(" ").map((name) => [name, 2] as const),
  ..."div li tr dt dd section article header footer main nav aside address center form fieldset caption thead tbody"
    .split(" ")
    .map((name) => [name, 1] as const),
]);

/** Elements without text for the reader. */
const skipped = new Set("head script style title template noscript svg math object select textarea iframe".split(" "));

/** Elements that are skipped if they are hidden. */
const hideable = new Set("p div span table tr td th section header footer center a img ul ol li".split(" "));
/** Elements whose end tag may be omitted: what ends them at the latest. Skipping up to the end tag could lose the rest of the email. */
const impliedEnds: ReadonlyMap<string, { startOf: ReadonlySet<string>; endOf: ReadonlySet<string> }> = new Map([
  ["td", { startOf: new Set(["td", "th", "tr"]), endOf: new Set(["table"]) }],
  ["th", { startOf: new Set(["td", "th", "tr"]), endOf: new Set(["table"]) }],
  ["tr", { startOf: new Set(["tr"]), endOf: new Set(["table"]) }],
  ["li", { startOf: new Set(["li"]), endOf: new Set(["ul", "ol"]) }],
  ["p", { startOf: new Set(blocks.keys()), endOf: new Set([...blocks.keys()].filter((name) => name !== "p")) }],
  ["head", { startOf: new Set([...blocks.keys(), "body"]), endOf: new Set(["html"]) }],
]);
const withoutEnd = new Set("area base br col embed hr img input link meta source track wbr".split(" "));

/** Elements whose lines have a prefix. */
const prefixed = new Set(["ul", "ol", "li", "blockquote"]);
/** Deeper levels are not indented further, so that the text grows at most linearly. */
const maxIndentedLevels = 8;

interface Container {
  name: string;
  /** The marker of a list item, until its first line is written. */
  marker: string;
  /** The prefix of the other lines. */
  indent: string;
  /** The number of the next item of an ordered list. */
  next: number;
}

interface Link {
  href: string;
  text: string;
}

export function htmlToText(html: string): string {
  const writer = createWriter();
  let skip: Skip | undefined;
  for (const token of tokensOf(html)) {
    if (skip && "name" in token && endsBefore(skip, token)) skip = undefined;
    if ("text" in token) {
      if (!skip) writer.text(visible(decodeEntities(token.text)));
    } else if (skip) {
      if (token.name === skip.name && !isSelfClosed(token)) skip.depth += token.isEnd ? -1 : 1;
      if (skip.depth === 0) skip = undefined;
    } else if (!token.isEnd && isHidden(token)) {
      if (!withoutEnd.has(token.name) && !isSelfClosed(token)) skip = { name: token.name, depth: 1, inner: 0 };
    } else if (token.isEnd) {
      writer.end(token.name);
    } else {
      writer.start(token);
    }
  }
  return writer.finish();
}

/** An element that is left out. */
interface Skip {
  name: string;
  /** How many elements of this name are open. */
  depth: number;
  /** How many tables or lists are open within it. Their cells or items do not end it. */
  inner: number;
}

/** Whether a tag after the hidden element implies its end. */
function endsBefore(skip: Skip, { name, isEnd }: Tag): boolean {
  const implied = impliedEnds.get(skip.name);
  if (!implied) return name === "body";
  if (skip.inner === 0 && (isEnd ? implied.endOf : implied.startOf).has(name)) return true;
  if (implied.endOf.has(name)) skip.inner += isEnd ? -1 : 1;
  return false;
}

/** Leaves out soft hyphens and the characters without width that fill preview texts. */
function visible(text: string): string {
  return text.replace(/\u00ad|\u034f|\u200b|\ufeff/g, "");
}

function isHidden(tag: Tag): boolean {
  if (skipped.has(tag.name)) return true;
  if (!hideable.has(tag.name) || tag.attributes === "") return false;
  return (
    /display\s*:\s*none|visibility\s*:\s*hidden/i.test(attributeOf(tag, "style") ?? "") ||
    attributeOf(tag, "hidden") !== undefined ||
    attributeOf(tag, "data-skip-in-text") === "true"
  );
}

function isList(name: string): boolean {
  return name === "ul" || name === "ol";
}

function isSelfClosed(tag: Tag): boolean {
  return tag.attributes.endsWith("/");
}

function createWriter() {
  const lines: string[] = [];
  const containers: Container[] = [];
  /** Those of them that are lists. */
  const lists: Container[] = [];
  /** How many containers of each kind are open. */
  const open = new Map<string, number>();
  /** The parts of the current line. Appending to one string would copy it with each part. */
  let line: string[] = [];
  /** Line breaks before the next text. */
  let breaks = 0;
  /** How many containers the last line and the next one share. Only these indent the blank lines between them. */
  let shared = 0;
  let preDepth = 0;
  let link: Link | undefined;

  function endLine(): void {
    const joined = line.join("").trimEnd();
    if (joined !== "") lines.push(joined);
    line = [];
  }

  function breakLine(count: number): void {
    endLine();
    breaks = Math.max(breaks, count);
  }

  /** Appends to the current line, after the breaks that are due and the prefix of the line. */
  function append(text: string): void {
    if (line.length === 0) {
      const continued = prefixOf(containers.slice(0, Math.min(shared, maxIndentedLevels)));
      if (lines.length > 0) for (let i = 1; i < breaks; i++) lines.push(continued);
      breaks = 0;
      shared = containers.length;
      line.push(takePrefix());
    }
    line.push(text);
    if (link) link.text += text;
  }

  function prefixOf(indented: readonly Container[]): string {
    return indented
      .map(({ indent }) => indent)
      .join("")
      .trimEnd();
  }

  /** The prefix of a line with text. The first line of a list item has its marker. */
  function takePrefix(): string {
    let prefix = "";
    for (const container of containers.slice(0, maxIndentedLevels)) {
      prefix += container.marker || container.indent;
      container.marker = "";
    }
    return prefix;
  }

  function text(value: string): void {
    if (preDepth > 0) return preformatted(value);
    // Not \s, which includes the no-break space.
    const collapsed = value.replace(/[ \t\r\n\f]+/g, " ");
    const isStart = line.length === 0 || line.at(-1)!.endsWith(" ");
    const rest = isStart ? collapsed.replace(/^ /, "") : collapsed;
    if (rest !== "") append(rest.replaceAll("\u00a0", " "));
  }

  function preformatted(value: string): void {
    const [first = "", ...others] = value.replace(/\r\n?/g, "\n").split("\n");
    if (first !== "") append(first);
    for (const other of others) {
      if (line.length === 0) breaks += 1;
      breakLine(1);
      if (other !== "") append(other);
    }
  }

  function enter(tag: Tag): void {
    // The end tag of a list item may be omitted.
    if (tag.name === "li" && containers.at(-1)?.name === "li") leave("li");
    const list = lists.at(-1);
    const marker = tag.name !== "li" ? "" : list?.name === "ol" ? `${list.next++}. ` : "- ";
    const indent = tag.name === "blockquote" ? "> " : " ".repeat(marker.length);
    const next = Number.parseInt(attributeOf(tag, "start") ?? "1", 10) || 1;
    const container = { name: tag.name, marker, indent, next };
    containers.push(container);
    if (isList(tag.name)) lists.push(container);
    open.set(tag.name, (open.get(tag.name) ?? 0) + 1);
  }

  function leave(name: string): void {
    if (!open.get(name)) return;
    for (let left: Container | undefined; left?.name !== name; ) {
      left = containers.pop()!;
      if (left === lists.at(-1)) lists.pop();
      open.set(left.name, open.get(left.name)! - 1);
    }
    shared = Math.min(shared, containers.length);
  }

  function endLink(): void {
    if (!link) return;
    const { href, text: label } = link;
    link = undefined;
    const address = href.replace(/^mailto:/i, "");
    if (!/^(https?|mailto|tel):/i.test(href) || label.trim() === href || label.trim() === address) return;
    text(label.trim() === "" ? href : ` <${href}>`);
  }

  /** A list within a list does not begin a paragraph. */
  function breaksOf(name: string): number {
    return isList(name) && (open.get("li") ?? 0) > 0 ? 1 : blocks.get(name)!;
  }

  return {
    text,
    start(tag: Tag): void {
      const { name } = tag;
      const isStartOfItem = containers.at(-1)?.marker !== "" && containers.length > 0;
      if (blocks.has(name)) breakLine(isStartOfItem ? 1 : breaksOf(name));
      if (prefixed.has(name)) enter(tag);
      if (name === "pre") preDepth += 1;
      if (name === "br") {
        if (line.length === 0) breaks += 1;
        breakLine(1);
      } else if (name === "hr") {
        append("---");
        breakLine(2);
      } else if (name === "td" || name === "th") {
        text(" ");
      } else if (name === "img") {
        text(attributeOf(tag, "alt") ?? "");
      } else if (name === "a") {
        endLink();
        const href = attributeOf(tag, "href")?.trim();
        if (href) link = { href, text: "" };
      }
    },
    end(name: string): void {
      if (name === "a") endLink();
      if (name === "pre") preDepth = Math.max(0, preDepth - 1);
      if (blocks.has(name)) breakLine(breaksOf(name));
      if (prefixed.has(name)) leave(name);
    },
    finish(): string {
      endLink();
      endLine();
      return lines
        .join("\n")
        .replace(/\n{4,}/g, "\n\n\n")
        .trim();
    },
  };
}
