/** What commands print: tables, colors and JSON. Strangers wrote much of it (subjects, names, replies of servers), so no control character
 * of theirs reaches a terminal. Used by every command. */
import { once } from "node:events";
import { styleText } from "node:util";

export type Tone = "green" | "yellow" | "red" | "cyan" | "gray" | "bold";
/** A cell of a table. Only `tone` can color it: escape sequences within the text are shown as text. */
export type Cell = string | undefined | { text: string; tone: Tone };

/** The text in a color, if standard output is a terminal and NO_COLOR is not set. */
export function color(tone: Tone, words: string): string {
  return styleText(tone, words, { stream: process.stdout, validateStream: true });
}

/**
 * Control characters (C0, C1, DEL), line separators, and characters that reorder or hide text (Unicode TR36). Each is shown as an escape, so
 * that `admin\u202etxt.exe` does not look like another name.
 */
const unsafe = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

/** The text on one line, safe for a terminal. */
export function plain(text: string): string {
  return text.replace(unsafe, escaped);
}

/** The same for text of several lines: line breaks and tabs stay. */
export function plainLines(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(unsafe, (found) => (found === "\n" || found === "\t" ? found : escaped(found)));
}

const short: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(found: string): string {
  const code = found.codePointAt(0)!;
  return short[found] ?? (code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`);
}

/** One line of JSON. JSON.stringify leaves C1 controls and DEL unescaped, which a terminal may obey; parsed, the text is the same. */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value).replace(/[\x7f-\x9f\u2028\u2029]/g, (found) => escaped(found))}\n`;
}

/** Rows as aligned columns; the first row sets the number of columns. */
export function table(rows: readonly (readonly Cell[])[], indent = "  "): string {
  return render(
    rows.map((row) => row.map(cellOf)),
    indent,
  );
}

/**
 * A list for people: a head and rows. On a terminal, the columns in `cut` are shortened until a line fits; other columns, such as ids that
 * are copied, never are. Columns that do not fit even so continue on a second, indented line. Without a terminal nothing is cut.
 */
export function fittedTable(
  rows: readonly (readonly Cell[])[],
  cut: readonly number[],
  width = process.stdout.isTTY ? process.stdout.columns : undefined,
): string {
  const cells = rows.map((row) => row.map(cellOf));
  // A terminal that reports no width, or a useless one, gets complete lines.
  if (width === undefined || width < 20) return render(cells, "");
  const widths = widthsOf(cells);
  const parts = linesOf(widths, cut, width).map((columns, part) => {
    const indent = part === 0 ? "" : continued;
    const own = columns.map((i) => widths[i]!);
    const ownCut = columns.flatMap((i, at) => (cut.includes(i) ? [at] : []));
    const limits = fit(own, ownCut, width - indent.length);
    const fitted = cells.map((row) =>
      columns.map((i, at) => ({ text: shorten(row[i]?.text ?? "", limits[at]!), tone: row[i]?.tone })),
    );
    return render(fitted, indent).split("\n");
  });
  const lines = cells.flatMap((_, row) =>
    parts.map((part) => part[row]!).filter((line, part) => part === 0 || line !== ""),
  );
  return `${lines.join("\n")}\n`;
}

const continued = "    ";
/** A column that may be cut stays on a line that has this much room for it. */
const roomToCut = 20;

/** The columns of each line of a row. */
function linesOf(widths: readonly number[], cut: readonly number[], width: number): number[][] {
  const lines: number[][] = [[]];
  let used = 0;
  for (const [i, own] of widths.entries()) {
    const needed = cut.includes(i) ? Math.min(own, roomToCut) : own;
    if (lines.at(-1)!.length > 0 && used + 2 + needed > width) {
      lines.push([]);
      used = continued.length - 2;
    }
    used += (lines.length === 1 && lines[0]!.length === 0 ? 0 : 2) + needed;
    lines.at(-1)!.push(i);
  }
  return lines;
}

type Shown = { text: string; tone?: Tone };

function cellOf(cell: Cell): Shown {
  if (typeof cell === "object") return { text: plain(cell.text), tone: cell.tone };
  return { text: plain(cell ?? "") };
}

function render(rows: readonly (readonly Shown[])[], indent: string): string {
  const widths = widthsOf(rows);
  const lines = rows.map((row) => {
    const cells = row.map(({ text, tone }, i) => {
      const padding = i < row.length - 1 ? " ".repeat(widths[i]! - widthOf(text)) : "";
      return (tone ? color(tone, text) : text) + padding;
    });
    return `${indent}${cells.join("  ")}`.trimEnd();
  });
  return `${lines.join("\n")}\n`;
}

function widthsOf(rows: readonly (readonly Shown[])[]): number[] {
  const widths = rows[0]?.map(() => 0) ?? [];
  for (const row of rows)
    for (const [i, { text }] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(text));
  return widths;
}

const narrowest = 8;

/** Takes columns from the widest column that may be cut, until the line fits or none can be cut further. */
function fit(widths: readonly number[], cut: readonly number[], width: number): number[] {
  const limits = [...widths];
  let excess = limits.reduce((sum, one) => sum + one, 0) + 2 * (limits.length - 1) - width;
  while (excess > 0) {
    const widest = cut.filter((i) => limits[i]! > narrowest).sort((a, b) => limits[b]! - limits[a]!)[0];
    if (widest === undefined) return limits;
    limits[widest]! -= 1;
    excess -= 1;
  }
  return limits;
}

function shorten(text: string, limit: number): string {
  if (widthOf(text) <= limit) return text;
  let kept = "";
  let used = 0;
  for (const character of text) {
    used += widthOf(character);
    if (used > limit - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Characters that take two columns: East Asian wide and full-width forms (Unicode TR11) and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;

/** The columns that a terminal uses for the text. */
export function widthOf(text: string): number {
  // Almost all text is ASCII.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += /[\p{M}\u200c\u200d]/u.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return width;
}

/** The reader of a pipe, such as head, has closed it. The command ends without a failure. */
export class ReaderLeft extends Error {
  override readonly name = "ReaderLeft";
}

let readerLeft = false;

/** Without this, a closed pipe or a full disk would end the program with a stack trace. Called once, before the command runs. */
export function watchReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (readerLeft) return;
    readerLeft = true;
    if (error.code === "EPIPE") return;
    process.stderr.write(`Cannot write to standard output: ${error.message}\n`);
    process.exitCode = 1;
  });
  process.stderr.on("error", () => {});
}

/** Writes to standard output and waits while the reader is slow. Throws ReaderLeft when it has left. */
export async function write(text: string | Uint8Array): Promise<void> {
  if (readerLeft) throw new ReaderLeft();
  if (process.stdout.write(text)) return;
  await once(process.stdout, "drain").catch(() => {});
  if (readerLeft) throw new ReaderLeft();
}
