/** CSV by RFC 4180: reading, and writing. Used by lists that people import and export. */

export type CsvRecord = {
  /** The number of its first line, from 1. */
  line: number;
  cells: string[];
};

/** Reads CSV record by record. It accepts a bare LF and skips a byte order mark, since spreadsheets write both. Empty lines are skipped. */
export function* readCsv(text: string): Generator<CsvRecord> {
  let at = text.startsWith("\ufeff") ? 1 : 0;
  let line = 1;
  while (at < text.length) {
    const start = line;
    const cells: string[] = [];
    for (;;) {
      let cell: string;
      if (text[at] === '"') {
        const quoted = readQuoted(text, at + 1);
        cell = quoted.cell;
        line += quoted.lines;
        at = quoted.end;
      } else cell = "";
      // Text between a closing quote and the comma is added to the cell, so that no data is dropped silently.
      const from = at;
      while (at < text.length && text[at] !== "," && text[at] !== "\n" && text[at] !== "\r") at++;
      cells.push(cell + text.slice(from, at));
      if (text[at] !== ",") break;
      at++;
    }
    if (text[at] === "\r") at++;
    if (text[at] === "\n") at++;
    line++;
    if (cells.length > 1 || cells[0] !== "") yield { line: start, cells };
  }
}

function readQuoted(text: string, from: number): { cell: string; end: number; lines: number } {
  let cell = "";
  let lines = 0;
  for (let at = from; ; ) {
    const quote = text.indexOf('"', at);
    const piece = text.slice(at, quote < 0 ? text.length : quote);
    cell += piece;
    lines += piece.split("\n").length - 1;
    if (quote < 0) return { cell, end: text.length, lines };
    if (text[quote + 1] !== '"') return { cell, end: quote + 1, lines };
    cell += '"';
    at = quote + 2;
  }
}

/** A cell that a spreadsheet shows as text, although it would run this text as a formula. */
export function asText(cell: string): string {
  return /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
}

/** Writes one record with its line end, so that `readCsv` returns the same cells. */
export function writeCsv(cells: readonly string[]): string {
  return `${cells.map(quoteCell).join(",")}\r\n`;
}

function quoteCell(cell: string): string {
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
