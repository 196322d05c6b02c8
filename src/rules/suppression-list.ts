/** What may go on a suppression list, one address at a time or as CSV; shared by the API and the command line. */
import { parseAddress } from "../mail/address.ts";
import { readCsv, writeCsv } from "./csv.ts";
import { invalid } from "./problem.ts";

export const maxNote = 500;

export type SuppressionEntry = { address: string; note: string };

/** The form in which the list holds an address, or what is wrong with it. */
export function listedAddress(text: string): { ok: true; address: string } | { ok: false; reason: string } {
  const parsed = parseAddress(text);
  if (!parsed.ok) return parsed;
  // The list is asked without regard to case: an address that complained under one spelling is not written to under another.
  return { ok: true, address: parsed.address.address.toLowerCase() };
}

export function noteProblem(note: string): string | undefined {
  if ([...note].length > maxNote) return `has ${[...note].length} characters, at most ${maxNote} are allowed`;
  return note.includes("\0") || !note.isWellFormed() ? "must not hold NUL or half characters" : undefined;
}

export type ReadLine = { line: number } & ({ entry: SuppressionEntry } | { problem: string });

/** Lines of an import, one by one. The first names the columns: `address` is needed, `note` is read, others are passed over. */
export function* readSuppressions(csv: string): Generator<ReadLine> {
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
    const read = listedAddress(cells[at] ?? "");
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
