/** Bounds on the shape of a received message, looked at before any parser is: nothing here costs more than one pass over the bytes. */

/** What is wrong with the message's shape, as the end of an SMTP reply; undefined: it may be parsed. */
export function shapeProblem(raw: Buffer): string | undefined {
  const head = headOf(raw);
  if (head.length > maxHeaderBytes) return `554 5.6.0 the header has more than ${maxHeaderBytes} octets`;
  if (linesIn(head, maxHeaderLines) > maxHeaderLines)
    return `554 5.6.0 the header has more than ${maxHeaderLines} lines`;
  const names = fieldNames(head);
  const count = (name: string) => names.filter((one) => one === name).length;
  if (names.length > maxFields) return `554 5.6.0 the header has more than ${maxFields} fields`;
  // RFC 5321 §6.3: a message that has been everywhere is going round in circles.
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
/** Folded ones included; they too cost the readers of signatures the square of their number. */
const maxHeaderLines = 4000;
const maxHops = 50;
const maxSignatures = 25;
export const maxParts = 1000;
/** What reads signatures takes the square of a row of blanks: 9 seconds for 60 KB of them, 1 ms for as many as this. */
const maxGap = 500;
/** The parser keeps each line by itself, for 13 µs: 40 MiB of base64 have half as many, and 40 MiB of empty lines twenty times. */
const maxLines = 1_000_000;
/** For the parser, which refuses what is nested more deeply. */
export const maxNesting = 50;

/** Up to the empty line; one octet more than allowed where it is longer, and no more is looked at. */
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

/** Line ends count: a field may be folded at every blank. */
function hasLongGap(head: Buffer): boolean {
  let gap = 0;
  for (const octet of head) {
    gap = octet === 0x20 || octet === 0x09 || octet === 0x0d || octet === 0x0a ? gap + 1 : 0;
    if (gap > maxGap) return true;
  }
  return false;
}

/** Counted no further than needed. */
function linesIn(raw: Buffer, most: number): number {
  let lines = 0;
  for (let at = raw.indexOf(0x0a); at >= 0 && lines <= most; at = raw.indexOf(0x0a, at + 1)) lines += 1;
  return lines;
}

/** Lines that begin like a delimiter of a declared boundary are counted; others that begin with "--" are somebody's text. */
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
        declared.has(line.slice(0, length)) && (length === told || /^(?:--)?[ \t]*(?:\r|$)/.test(line.slice(length))),
    );
  return dashed.filter(isDelimiter).length > maxParts;
}

/** RFC 2046 §5.1.1 allows boundaries of 70 characters; as many as this tell one from another. */
const told = 20;

/** What follows each place of a word, a few characters of it. */
function textsAt(raw: Buffer, word: string, skip: number): string[] {
  const texts: string[] = [];
  for (let at = raw.indexOf(word); at >= 0 && texts.length < maxPlaces; at = raw.indexOf(word, at + word.length))
    texts.push(raw.toString("latin1", at + skip, at + skip + told + 6));
  return texts;
}

/** The work of looking has a bound of its own. */
const maxPlaces = 20_000;
