/** Extracts the text of an HTML message that has no plain-text part, in one pass and without layout. Called by message/digest.ts. */

/** Paragraphs and line breaks become lines. Quoted lines start with "> " as in plain text, so that reply-text.ts recognizes them. */
export function htmlToText(html: string): string {
  const lines: string[] = [];
  // Collect each line separately: checking the end of the whole text after each piece would copy all of it each time.
  let line = "";
  let quotes = 0;
  let skipping = "";
  const endLine = () => {
    lines.push(line);
    line = "";
  };
  const breakLine = () => {
    if (line !== "") endLine();
  };
  const write = (words: string) => {
    const flat = words.replace(/[ \t\r\n\f]+/g, " ");
    const atStart = line === "";
    if (flat === "" || (flat === " " && atStart)) return;
    line += (atStart ? "> ".repeat(Math.min(quotes, 10)) : "") + decodeEntities(atStart ? flat.trimStart() : flat);
  };
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf("<", at);
    if (open < 0 || open > at) {
      if (skipping === "") write(html.slice(at, open < 0 ? html.length : open));
      if (open < 0) break;
    }
    if (html.startsWith("<!--", open)) {
      const end = html.indexOf("-->", open + 4);
      if (end < 0) break;
      at = end + 3;
      continue;
    }
    const end = html.indexOf(">", open);
    if (end < 0) break;
    at = end + 1;
    const tag = /^<(\/?)([a-z][a-z0-9]*)/i.exec(html.slice(open, open + 40));
    if (!tag) continue;
    const name = tag[2]!.toLowerCase();
    const closing = tag[1] === "/";
    if (skipping !== "") {
      if (closing && name === skipping) skipping = "";
      continue;
    }
    if (!closing && skippedElements.has(name)) skipping = name;
    else if (name === "br") endLine();
    else if (name === "blockquote") {
      breakLine();
      quotes = Math.max(0, quotes + (closing ? -1 : 1));
    } else if (blockElements.has(name)) breakLine();
  }
  endLine();
  return lines
    .join("\n")
    .split("\n")
    .map(trimBlanksAtEnd)
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

/** A loop instead of a pattern, which is quadratic on a long run of blanks. */
function trimBlanksAtEnd(line: string): string {
  let end = line.length;
  while (end > 0 && (line[end - 1] === " " || line[end - 1] === "\t")) end--;
  return line.slice(0, end);
}

const skippedElements = new Set(["script", "style", "head", "title", "template", "noscript"]);
const blockElements = new Set(
  "p div tr li ul ol table h1 h2 h3 h4 h5 h6 hr pre section article header footer dt dd".split(" "),
);

const namedEntities: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  rsquo: "’",
  lsquo: "‘",
  ldquo: "“",
  rdquo: "”",
  auml: "ä",
  ouml: "ö",
  uuml: "ü",
  Auml: "Ä",
  Ouml: "Ö",
  Uuml: "Ü",
  szlig: "ß",
  eacute: "é",
  egrave: "è",
  agrave: "à",
  ccedil: "ç",
  ntilde: "ñ",
  euro: "€",
  copy: "©",
};

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{1,10}));/gi, (whole, decimal, hex, name) => {
    if (name) return namedEntities[name] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : "";
  });
}
