/** Splits CSV text into parts for several calls, each with the header line. Used by posthorn suppressions import. */
import { readCsv, writeCsv } from "../../ops/csv.ts";

export type CsvPart = {
  csv: string;
  /** The line of the file that a line of the part comes from. */
  lineOf(line: number): number;
};

/** Below the limit of a call, 64 MiB, also for lines with long notes. */
const defaultLimits = { records: 5000, length: 8 * 1024 * 1024 };

/** The records are read and written again, because only the reader knows where a quoted cell ends. */
export function* splitCsv(text: string, limits = defaultLimits): Generator<CsvPart> {
  let header: string | undefined;
  let part: { csv: string; line: number; lines: Map<number, number> } | undefined;
  const finish = ({ csv, lines }: NonNullable<typeof part>): CsvPart => ({
    csv,
    lineOf: (line) => lines.get(line) ?? line,
  });
  for (const { line, cells } of readCsv(text)) {
    const record = writeCsv(cells);
    if (header === undefined) {
      header = record;
      continue;
    }
    if (part && (part.lines.size >= limits.records || part.csv.length + record.length > limits.length)) {
      yield finish(part);
      part = undefined;
    }
    part ??= { csv: header, line: 1 + lineCount(header), lines: new Map() };
    part.lines.set(part.line, line);
    part.line += lineCount(record);
    part.csv += record;
  }
  if (part) yield finish(part);
  // Without records, the service says what is missing.
  else yield { csv: header ?? text, lineOf: (line) => line };
}

function lineCount(text: string): number {
  return text.split("\n").length - 1;
}
