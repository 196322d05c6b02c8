/** Many texts as one parameter, in PostgreSQL's binary form of text[]: written once, where the textual form is quoted here, checked for quotes
 * there, and copied five times in between. For content, which is most of what is ever sent to the database. */

const textOid = 25;

export function textArray(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(20 + lengths.reduce((sum, length) => sum + 4 + length, 0));
  // An array without elements has no dimension.
  let at = bytes.writeInt32BE(texts.length === 0 ? 0 : 1, 0);
  at = bytes.writeInt32BE(0, at); // No element is null.
  at = bytes.writeInt32BE(textOid, at);
  if (texts.length === 0) return bytes.subarray(0, at);
  at = bytes.writeInt32BE(texts.length, at);
  at = bytes.writeInt32BE(1, at); // The first has the number one.
  for (const [i, text] of texts.entries()) {
    at = bytes.writeInt32BE(lengths[i]!, at);
    at += bytes.write(text, at);
  }
  return bytes;
}
