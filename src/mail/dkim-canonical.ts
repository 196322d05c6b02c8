/** DKIM's relaxed canonical form (RFC 6376 §3.4) of header fields and body. Called by dkim.ts. */

import { createHash } from "node:crypto";

export type HeaderField = { name: string; value: string };

/** RFC 6376 §3.4.2: lower-case name, unfolded value, each run of white space as one space, none at either end. Text is latin1. */
export function relaxedField(name: string, value: string): string {
  const unfolded = value.includes("\r\n") ? value.replaceAll("\r\n", "") : value;
  // Only space and tab count as white space. trim() would also remove 0xA0, which may be part of a UTF-8 character.
  return `${name.toLowerCase()}:${unfolded.replace(/[ \t]+/g, " ").replace(/^ | $/g, "")}`;
}

/** Splits a header section into its fields, in order. Folded lines stay together; the value is everything after the colon. */
export function splitHeader(head: string): HeaderField[] {
  return head
    .split(/\r\n(?![ \t])/)
    .filter((line) => line !== "")
    .map((line) => {
      const colon = line.indexOf(":");
      if (colon < 1) throw new Error("a header line without a name cannot be signed");
      return { name: line.slice(0, colon).replace(/[ \t]+$/, ""), value: line.slice(colon + 1) };
    });
}

/** RFC 6376 §3.4.4 and §3.7: SHA-256 of the relaxed body, in base64. */
export function relaxedBodyHash(body: Buffer): string {
  const relaxed = isRelaxed(body) ? body : relaxBody(body);
  let end = relaxed.length;
  while (end >= 2 && relaxed[end - 1] === LF && relaxed[end - 2] === CR) end -= 2;
  const hash = createHash("sha256").update(relaxed.subarray(0, end));
  if (end > 0) hash.update("\r\n");
  return hash.digest("base64");
}

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
const TWO_SPACES = Buffer.from("  ");
const SPACE_AT_END = Buffer.from(" \r\n");

// Base64 and most quoted-printable bodies need no change. Three native searches detect that at several GB/s.
function isRelaxed(body: Buffer): boolean {
  return (
    body.indexOf(TAB) < 0 &&
    body.indexOf(TWO_SPACES) < 0 &&
    body.indexOf(SPACE_AT_END) < 0 &&
    body[body.length - 1] !== SPACE
  );
}

function relaxBody(body: Buffer): Buffer {
  const out = Buffer.allocUnsafe(body.length);
  let at = 0;
  let pendingSpace = false;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]!;
    if (byte === SPACE || byte === TAB) {
      pendingSpace = true;
      continue;
    }
    if (pendingSpace && !(byte === CR && body[i + 1] === LF)) out[at++] = SPACE;
    pendingSpace = false;
    out[at++] = byte;
  }
  return out.subarray(0, at);
}
