/** Entries of a suppression list: normalized addresses, notes, and import and export as CSV (RFC 4180). Called by service.ts. */
import { parseAddress } from "../mail/address.ts";
import { invalid } from "../ops/problem.ts";

export const maxNote = 500;

export type SuppressionEntry = { address: string; note: string };

/** Returns the address as the list stores it, or what is wrong with it. */
export function normalizeAddress(text: string): { ok: true; address: string } | { ok: false; reason: string } {
  const parsed = parseAddress(text);
  if (!parsed.ok) return parsed;
  // The list ignores case: an address that complained in one spelling must not get mail in another.
  return { ok: true, address: parsed.address.address.toLowerCase() };
}

export function noteProblem(note: string): string | undefined {
  if ([...note].length > maxNote) return `has ${[...note].length} characters, at most ${maxNote} are allowed`;
  return note.includes("\0") || !note.isWellFormed() ? "must not contain NUL or unpaired surrogates" : undefined;
}

export type ImportLine = { line: number } & ({ entry: SuppressionEntry } | { problem: string });

/** Reads an import line by line. The header must have a column `address`; `note` is optional, other columns are ignored. */
export function* readSuppressions(csv: string): Generator<ImportLine> {
  const records = readCsv(csv);
  const first = records.next();
  if (first.done)
    throw invalid([{ field: "csv", description: "is empty: write a header line with the column address" }]);
  const columns = first.value.cells.map((cell) => cell.trim().toLowerCase());
  const at = columns.indexOf("address");
  if (at < 0) {
    throw invalid([
      {
        field: "csv",
        description: `needs a column "address" in its first line, which has: ${columns.join(", ").slice(0, 100)}`,
      },
    ]);
  }
  const noteAt = columns.indexOf("note");
  for (const { line, cells } of records) {
    const read = normalizeAddress(cells[at] ?? "");
    const note = noteAt < 0 ? "" : (cells[noteAt] ?? "").trim();
    const problem = read.ok ? noteProblem(note) : undefined;
    if (!read.ok) yield { line, problem: read.reason };
    else if (problem) yield { line, problem: `The note ${problem}` };
    else yield { line, entry: { address: read.address, note } };
  }
}

export const suppressionHeader = writeCsv(["address", "reason", "note", "created_at"]);

export function writeSuppression(row: { address: string; reason: string; note: string; createdAt: Date }): string {
  return writeCsv([row.address, row.reason, row.note, row.createdAt.toISOString()]);
}

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

/** Writes one record with its line end, so that `readCsv` returns the same cells. */
export function writeCsv(cells: readonly string[]): string {
  return `${cells.map(quoteCell).join(",")}\r\n`;
}

function quoteCell(cell: string): string {
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
