/** Splits HTML into texts and tags, in one pass over the input. html-text.ts calls it. It never fails: HTML has no syntax errors. */
import { decodeEntities } from "./html-entities.ts";

export type Token = { text: string } | Tag;

export interface Tag {
  name: string;
  isEnd: boolean;
  /** The text between the name and `>`. */
  attributes: string;
}

/** Elements whose content is not HTML. */
const rawText = new Set(["script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes"]);

export function* tokensOf(html: string): Generator<Token> {
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    if (open === -1 || open > at) yield { text: html.slice(at, open === -1 ? undefined : open) };
    if (open === -1) return;
    const next = html.charAt(open + 1);
    if (next === "!" || next === "?") {
      at = endOfMarkup(html, open);
    } else if (/[a-zA-Z/]/.test(next)) {
      const end = endOfTag(html, open);
      const tag = tagOf(html.slice(open + 1, end - 1));
      if (tag) yield tag;
      at = tag && !tag.isEnd && rawText.has(tag.name) ? endOfRawText(html, tag.name, end) : end;
    } else {
      yield { text: "<" };
      at = open + 1;
    }
  }
}

/** The value of an attribute; undefined if the tag does not have it. */
export function attributeOf(tag: Tag, name: string): string | undefined {
  for (const match of tag.attributes.matchAll(/([^\s=/"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+)))?/g)) {
    if (match[1]!.toLowerCase() === name) return decodeEntities(match[2] ?? match[3] ?? match[4] ?? "");
  }
  return undefined;
}

/** The end of a comment, which may contain tags, of a doctype, or of a conditional such as `<![endif]>`. */
function endOfMarkup(html: string, open: number): number {
  const end = html.startsWith("<!--", open) ? indexAfter(html, "-->", open + 2) : indexAfter(html, ">", open);
  return end;
}

/** A `>` in quotes does not end a tag. A tag that never ends takes the rest of the input with it, as in a browser. */
function endOfTag(html: string, open: number): number {
  for (let at = open + 1; at < html.length; at++) {
    const character = html.charAt(at);
    if (character === ">") return at + 1;
    // A quote counts only after "=": `<p class=a" b>` is a complete tag.
    if ((character === '"' || character === "'") && /=\s*$/.test(html.slice(Math.max(open, at - 8), at))) {
      at = html.indexOf(character, at + 1);
      if (at === -1) break;
    }
  }
  return html.length + 1;
}

function endOfRawText(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  end.lastIndex = from;
  return end.exec(html)?.index ?? html.length;
}

function indexAfter(html: string, text: string, from: number): number {
  const at = html.indexOf(text, from);
  return at === -1 ? html.length : at + text.length;
}

function tagOf(source: string): Tag | undefined {
  const [, slash, name, attributes] = /^(\/?)([a-zA-Z][^\s/>]*)(.*)$/s.exec(source) ?? [];
  return name === undefined ? undefined : { name: name.toLowerCase(), isEnd: slash === "/", attributes: attributes! };
}
