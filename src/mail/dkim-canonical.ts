/** DKIM's relaxed canonical form (RFC 6376 §3.4) of header fields. Called by dkim.ts. body-hash.ts has that of the body. */

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
