/** Limits on the structure of a received message. inbound/receive.ts checks them before parsing; each check is one pass over the bytes. */

/** The SMTP reply that refuses the message, or undefined if the message may be parsed. */
export function shapeProblem(raw: Buffer): string | undefined {
  const head = headOf(raw);
  if (head.length > maxHeaderBytes) return `554 5.6.0 the header has more than ${maxHeaderBytes} octets`;
  if (linesIn(head, maxHeaderLines) > maxHeaderLines)
    return `554 5.6.0 the header has more than ${maxHeaderLines} lines`;
  const names = fieldNames(head);
  const count = (name: string) => names.filter((one) => one === name).length;
  if (names.length > maxFields) return `554 5.6.0 the header has more than ${maxFields} fields`;
  // RFC 5321 §6.3: a large number of Received fields indicates a mail loop.
  if (count("received") > maxHops) return "554 5.4.6 too many hops: the message is in a loop";
  if (count("dkim-signature") > maxSignatures || count("arc-seal") > maxSignatures)
    return `554 5.6.0 more than ${maxSignatures} signatures`;
  if (hasLongGap(head)) return `554 5.6.0 the header has more than ${maxGap} blanks in a row`;
  if (raw.length > maxLines && linesIn(raw, maxLines) > maxLines) return `554 5.6.0 more than ${maxLines} lines`;
  if (hasTooManyParts(raw)) return `554 5.6.0 more than ${maxParts} parts`;
  return undefined;
}

export const maxHeaderBytes = 65_535;
const maxFields = 1000;
/** Includes folded lines. DKIM and ARC verification takes quadratic time in the number of lines. */
const maxHeaderLines = 4000;
const maxHops = 50;
const maxSignatures = 25;
export const maxParts = 1000;
/** DKIM verification takes quadratic time on a run of blanks: 9 seconds for 60 KB, 1 ms for this many. */
const maxGap = 500;
/** The parser needs 13 µs per line. 40 MiB of base64 have half as many lines as this, 40 MiB of empty lines twenty times as many. */
const maxLines = 1_000_000;
/** The parser refuses deeper nesting. */
export const maxNesting = 50;

/** The header up to the empty line. A header over the limit is cut at one octet above it. */
export function headOf(raw: Buffer): Buffer {
  if (raw[0] === 0x0d && raw[1] === 0x0a) return raw.subarray(0, 0);
  const start = raw.subarray(0, maxHeaderBytes + 5);
  const end = start.indexOf("\r\n\r\n");
  return end < 0 ? start.subarray(0, maxHeaderBytes + 1) : start.subarray(0, end + 2);
}

export function fieldNames(head: Buffer): string[] {
  const names: string[] = [];
  for (const line of head.toString("latin1").split("\r\n")) {
    const match = /^([!-9;-~]+)[ \t]*:/.exec(line);
    if (match) names.push(match[1]!.toLowerCase());
  }
  return names;
}

/** Line ends count as blanks, because a field may be folded at every blank. */
function hasLongGap(head: Buffer): boolean {
  let gap = 0;
  for (const octet of head) {
    gap = octet === 0x20 || octet === 0x09 || octet === 0x0d || octet === 0x0a ? gap + 1 : 0;
    if (gap > maxGap) return true;
  }
  return false;
}

/** Counts lines, and stops above `limit`. */
function linesIn(raw: Buffer, limit: number): number {
  let lines = 0;
  for (let at = raw.indexOf(0x0a); at >= 0 && lines <= limit; at = raw.indexOf(0x0a, at + 1)) lines += 1;
  return lines;
}

/** Counts lines that start with "--" and a declared boundary. Other lines that start with "--" are text. */
function hasTooManyParts(raw: Buffer): boolean {
  const dashed = textsAt(raw, "\r\n--", 4);
  if (dashed.length <= maxParts) return false;
  const declared = new Set<string>();
  for (const text of ["oundary", "OUNDARY"].flatMap((word) => textsAt(raw, word, word.length))) {
    const match = /^[ \t]*=[ \t]*"?([^"\r\n;]{1,20})/.exec(text);
    if (match) declared.add(match[1]!);
  }
  const lengths = new Set([...declared].map(({ length }) => length));
  const isDelimiter = (line: string) =>
    [...lengths].some(
      (length) =>
        declared.has(line.slice(0, length)) &&
        (length === comparedCharacters || /^(?:--)?[ \t]*(?:\r|$)/.test(line.slice(length))),
    );
  return dashed.filter(isDelimiter).length > maxParts;
}

/** RFC 2046 §5.1.1 allows boundaries of 70 characters. The first 20 are enough to compare. */
const comparedCharacters = 20;
/** Limits the work of one search. */
const maxMatches = 20_000;

/** The first characters after each occurrence of a word. */
function textsAt(raw: Buffer, word: string, skip: number): string[] {
  const texts: string[] = [];
  for (let at = raw.indexOf(word); at >= 0 && texts.length < maxMatches; at = raw.indexOf(word, at + word.length))
    texts.push(raw.toString("latin1", at + skip, at + skip + comparedCharacters + 6));
  return texts;
}
