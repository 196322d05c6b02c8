/** Entries of a suppression list: addresses, notes, and import and export as CSV (RFC 4180). Called by service.ts. */
import { parseAddress } from "../mail/address.ts";
import { readCsv, writeCsv } from "../ops/csv.ts";
import { invalid } from "../ops/problem.ts";

export const maxNote = 500;

export type SuppressionEntry = { address: string; note: string };

/** Returns the bare address, or what is wrong with it. */
export function readAddress(text: string): { ok: true; address: string } | { ok: false; reason: string } {
  const parsed = parseAddress(text);
  if (!parsed.ok) return parsed;
  return { ok: true, address: parsed.address.address };
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
    const read = readAddress(cells[at] ?? "");
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
