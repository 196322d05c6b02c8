/** Assembles the plain text and the HTML of a message from its text parts. Called by read.ts. */
import { htmlToText } from "../html-text.ts";
import { decodeBody } from "./body.ts";
import { isText, type Leaf, type LineCount } from "./structure.ts";

type Kind = "text" | "html";
type Written = Partial<Record<Kind, string[]>>;

/** A message with only one kind of text has an empty string for the other. Where a message mixes both, parts of one kind are converted. */
export function collectTexts(raw: Buffer, leaves: readonly Leaf[], lines: LineCount): { text: string; html: string } {
  /** The parts of a multipart/alternative are versions of one text, so they share an entry. */
  const entries = new Map<object, Written>();
  for (const leaf of leaves) {
    if (!isText(leaf.header)) continue;
    const key = leaf.alternative ?? leaf;
    const entry = entries.get(key) ?? {};
    entries.set(key, entry);
    const kind = leaf.header.type === "text/html" ? "html" : "text";
    entry[kind] ??= [];
    entry[kind].push(textOf(raw, leaf, lines));
  }
  const all = [...entries.values()];
  return { text: joined(all, "text"), html: joined(all, "html") };
}

function textOf(raw: Buffer, { header, start, end }: Leaf, lines: LineCount): string {
  const content = decodeBody(raw.subarray(start, end), header.encoding);
  // A line of base64 or quoted-printable may contain many lines of text.
  if (header.encoding !== "identity") lines.add(content, 0, content.length);
  return header.textOf(content);
}

function joined(entries: readonly Written[], kind: Kind): string {
  if (!entries.some((entry) => entry[kind])) return "";
  const convert = kind === "html" ? textToHtml : htmlToText;
  const other = kind === "html" ? "text" : "html";
  return entries.flatMap((entry) => entry[kind] ?? (entry[other] ?? []).map(convert)).join("\n");
}

function textToHtml(text: string): string {
  const escaped = text.trim().replace(/[<>"'&]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<div>${escaped.replaceAll("\n", "<br />")}</div>`;
}
