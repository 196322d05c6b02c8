/** Reads the facts of a composed message that the rules need. A large message is read in slices, so that other calls go on. Called by check.ts. */
import type { HeaderField, MessageFacts } from "./rules/facts.ts";

const LF = 0x0a;
const CR = 0x0d;
/** A header beyond this is refused elsewhere. */
const maxHeaderBytes = 256 * 1024;
const sliceBytes = 1024 * 1024;

export async function readMessageFacts(raw: Buffer, texts: { text: string; html: string }): Promise<MessageFacts> {
  const head = headerOf(raw);
  const fields = readFields(head);
  return {
    fields,
    sizeBytes: raw.length,
    hasRawHeader: /[\x80-\xff]/.test(head),
    signedFields: signedFieldsOf(fields),
    ...(await readLines(raw)),
    ...texts,
  };
}

/** As latin1, without the empty line. */
function headerOf(raw: Buffer): string {
  const start = raw.subarray(0, maxHeaderBytes).toString("latin1");
  const end = /\r?\n\r?\n/.exec(start);
  return end ? start.slice(0, end.index) : start;
}

/** Lines that are not fields are left out. */
function readFields(head: string): HeaderField[] {
  return head.split(/\r?\n(?![ \t])/).flatMap((line) => {
    const colon = line.indexOf(":");
    if (colon < 1) return [];
    return [{ name: line.slice(0, colon).trimEnd(), value: line.slice(colon + 1).replace(/\r?\n/g, "\r\n") }];
  });
}

/** RFC 6376 §3.5: the names in h=, separated by colons. */
function signedFieldsOf(fields: readonly HeaderField[]): string[] {
  const signature = fields.find(({ name }) => name.toLowerCase() === "dkim-signature")?.value.slice(0, 16_384) ?? "";
  const names = /(?:^|;)\s*h\s*=([^;]*)/i.exec(signature)?.[1] ?? "";
  return names
    .split(":")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "");
}

async function readLines(raw: Buffer): Promise<Pick<MessageFacts, "longestLine" | "hasBareLineEnds">> {
  let longestLine = 0;
  let hasBareLineEnds = false;
  let start = 0;
  let pauseAt = sliceBytes;
  /** The next CR. Searched for once, not once a line: a message without any would be read to its end each time. */
  let cr = raw.indexOf(CR);
  while (start < raw.length) {
    const found = raw.indexOf(LF, start);
    const end = found < 0 ? raw.length : found;
    const endsWithCr = found > 0 && raw[found - 1] === CR && found - 1 >= start;
    const lineEnd = endsWithCr ? end - 1 : end;
    if (found >= 0 && !endsWithCr) hasBareLineEnds = true;
    if (cr >= 0 && cr < start) cr = raw.indexOf(CR, start);
    if (cr >= 0 && cr < lineEnd) hasBareLineEnds = true;
    longestLine = Math.max(longestLine, lineEnd - start);
    start = end + 1;
    if (start > pauseAt) {
      pauseAt = start + sliceBytes;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return { longestLine, hasBareLineEnds };
}
