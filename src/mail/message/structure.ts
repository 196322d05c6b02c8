/** Finds the parts of a received message by its MIME boundaries, in one pass over the bytes, and refuses a message that exceeds a limit.
 * Called by read.ts. Bodies are searched for boundary lines only, so a body costs the same whatever its lines are. */
import { headerProblem, maxHeadersBytes, maxNesting, maxParts, maxTextLines } from "./limits.ts";
import { createPartHeader, type PartHeader, type PartHeaderReader } from "./part-header.ts";

export type Leaf = {
  header: PartHeader;
  /** The offset of the part's header in the message. */
  headerStart: number;
  /** The offsets of the body in the message. */
  start: number;
  end: number;
  /** Whether it is in a multipart/signed, whose octets are covered by a signature. */
  isSigned: boolean;
  /** The innermost multipart/alternative around it. */
  alternative: object | undefined;
};

/** A part that contains other parts. `start` is the offset after its header. */
export type Multipart = Pick<Leaf, "header" | "headerStart" | "start" | "isSigned">;

export type Structure = { header: PartHeader; leaves: Leaf[]; multiparts: Multipart[]; lines: LineCount };

/** The message exceeds a limit. */
export class ShapeProblem extends Error {}

/** Counts the lines that are read one by one: headers, preambles, epilogues and texts. */
export type LineCount = { add(bytes: Uint8Array, start: number, end: number): void };

type Node = {
  parent: Node | undefined;
  depth: number;
  headerStart: number;
  isSigned: boolean;
  reader: PartHeaderReader | undefined;
  header: PartHeader | undefined;
  alternative: object | undefined;
  leaf: Leaf | undefined;
};

const LF = 0x0a;
const CR = 0x0d;
const DASH = 0x2d;
const lineWithDashes = Buffer.from("\n--");

export function structureOf(raw: Buffer, maxLines = maxTextLines): Structure {
  const lines = createLineCount(maxLines);
  const leaves: Leaf[] = [];
  const multiparts: Multipart[] = [];
  /** Innermost last. */
  const open: { boundary: Buffer; node: Node }[] = [];
  const root = createNode(undefined, 0);
  let current: Node | undefined = root;
  let headerBytes = 0;
  let parts = 0;
  let at = 0;

  /** The header of the current part ends here, and its body begins at `start`. */
  function beginBody(node: Node, start: number): void {
    const header = node.reader!.finish();
    node.reader = undefined;
    node.header = header;
    if (header.boundary) open.push({ boundary: header.boundary, node });
    const { headerStart, alternative } = node;
    if (header.multipart !== undefined) {
      if (header.multipart === "alternative") node.alternative = node;
      multiparts.push({ header, headerStart, start, isSigned: node.isSigned });
      if (header.multipart === "signed") node.isSigned = true;
      return;
    }
    node.leaf = { header, headerStart, start, end: start, isSigned: node.isSigned, alternative };
    leaves.push(node.leaf);
  }

  /** The current part ends here, by a boundary line or the end of the message. */
  function end(node: Node, at: number): void {
    if (node.reader) beginBody(node, at);
    if (node.leaf) node.leaf.end = at;
  }

  function readHeaderLine(node: Node, from: number): number {
    const after = lineEnd(raw, from);
    const line = raw.subarray(from, textEnd(raw, from, after));
    lines.add(raw, from, after);
    if (line.length === 0) {
      beginBody(node, after);
      return after;
    }
    headerBytes += line.length;
    if (headerBytes > maxHeadersBytes)
      throw new ShapeProblem(`the headers of its parts have more than ${maxHeadersBytes} octets`);
    node.reader!.line(line);
    return after;
  }

  function openPart(parent: Node, headerStart: number): Node {
    parts += 1;
    if (parts > maxParts) throw new ShapeProblem(`more than ${maxParts} parts`);
    if (parent.depth >= maxNesting) throw new ShapeProblem(`parts are nested more than ${maxNesting} levels deep`);
    return createNode(parent, headerStart);
  }

  while (at < raw.length) {
    const found = raw[at] === DASH && raw[at + 1] === DASH ? delimiterAt(raw, at, open) : undefined;
    if (found) {
      if (current) end(current, at);
      // Parts inside the one that the line separates have ended too, even without a closing line.
      open.length = found.index + (found.isLast ? 0 : 1);
      current = found.isLast ? found.node.parent : openPart(found.node, found.after);
      lines.add(raw, at, found.after);
      at = found.after;
    } else if (current?.reader) {
      at = readHeaderLine(current, at);
    } else {
      const next = open.length === 0 ? -1 : raw.indexOf(lineWithDashes, at);
      const to = next < 0 ? raw.length : next + 1;
      if (!current?.leaf || isText(current.leaf.header)) lines.add(raw, at, to);
      at = to;
    }
  }
  if (current) end(current, raw.length);
  return { header: root.header!, leaves, multiparts, lines };
}

/** The SMTP reply that refuses a message because of its header, its parts or its lines; undefined if it may be read. */
export function shapeProblem(raw: Buffer): string | undefined {
  const problem = headerProblem(raw);
  if (problem) return problem;
  try {
    structureOf(raw);
    return undefined;
  } catch (error) {
    if (error instanceof ShapeProblem) return refusalOf(error);
    throw error;
  }
}

/** RFC 3463 §3.7: 5.6.0 is a problem with the content of the message. */
export function refusalOf(problem: ShapeProblem): string {
  return `554 5.6.0 ${problem.message}`;
}

/** Such parts are shown as the message's text. */
export function isText({ type, isAttachment }: PartHeader): boolean {
  return !isAttachment && (type === "text/plain" || type === "text/html");
}

function createNode(parent: Node | undefined, headerStart: number): Node {
  return {
    parent,
    depth: parent ? parent.depth + 1 : 0,
    headerStart,
    isSigned: parent?.isSigned ?? false,
    reader: createPartHeader(parent?.header?.multipart),
    header: undefined,
    alternative: parent?.alternative,
    leaf: undefined,
  };
}

function createLineCount(maxLines: number): LineCount {
  let count = 0;
  return {
    add(bytes, start, end) {
      for (let at = bytes.indexOf(LF, start); at >= 0 && at < end; at = bytes.indexOf(LF, at + 1)) {
        count += 1;
        if (count > maxLines) throw new ShapeProblem(`more than ${maxLines} lines`);
      }
    },
  };
}

type Delimiter = { node: Node; index: number; isLast: boolean; after: number };

/** Whether the line at `at` is a boundary line (RFC 2046 §5.1.1), and of which open multipart. The innermost one wins. */
function delimiterAt(
  raw: Buffer,
  at: number,
  open: readonly { boundary: Buffer; node: Node }[],
): Delimiter | undefined {
  if (open.length === 0) return undefined;
  const after = lineEnd(raw, at);
  const end = textEnd(raw, at, after);
  for (let index = open.length - 1; index >= 0; index--) {
    const { boundary, node } = open[index]!;
    let next = at + 2;
    if (next + boundary.length > end || !startsWith(raw, next, boundary)) continue;
    next += boundary.length;
    const isLast = next + 1 < end && raw[next] === DASH && raw[next + 1] === DASH;
    if (isLast) next += 2;
    while (next < end && (raw[next] === 0x20 || raw[next] === 0x09)) next += 1;
    if (next === end) return { node, index, isLast, after };
  }
  return undefined;
}

/** A loop, because almost all comparisons end at the first octet, where a native call would cost more. */
function startsWith(raw: Buffer, at: number, text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) if (raw[at + i] !== text[i]) return false;
  return true;
}

/** The offset after the LF, or the length. */
function lineEnd(raw: Buffer, from: number): number {
  const found = raw.indexOf(LF, from);
  return found < 0 ? raw.length : found + 1;
}

/** The end of the line's text, before its line end. */
function textEnd(raw: Buffer, start: number, end: number): number {
  let at = end;
  while (at > start && (raw[at - 1] === LF || raw[at - 1] === CR)) at -= 1;
  return at;
}
