/** Limits on the shape of a received message. inbound/receive.ts checks its header before the message is parsed, in a few passes over at
 * most 64 KiB. structure.ts checks the limits on parts and lines while it looks for the parts. */

/** The SMTP reply that refuses the message because of its header, or undefined. */
export function headerProblem(raw: Buffer): string | undefined {
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
/** The headers of the message and of all its parts. */
export const maxHeadersBytes = maxHeaderBytes + maxParts * 2048;
export const maxNesting = 50;
/** Lines that are read one by one: headers, preambles, epilogues, and the texts that are shown as body and html, before and after decoding.
 * Other bodies count by octets only, because nothing looks at their lines: 40 MiB of base64 have 700,000. */
export const maxTextLines = 100_000;

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
