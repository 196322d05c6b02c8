/** Generators of hostile input for the targets: grammar tokens in random order, long repetitions, mutated real files, random bytes. */
import fc from "fast-check";

/** Long enough to expose quadratic work, short enough that linear work stays within the limit. */
const longest = 128 * 1024;

/** Characters that often break parsers. */
const odd = [
  "\0",
  "\r",
  "\n",
  "\r\n",
  "\t",
  " ",
  '"',
  "\\",
  "\u00a0",
  "ü",
  "\u202e",
  "😀",
  "\ud800",
  "\ufeff",
  "%",
  "=",
  ";",
  ",",
];

export function texts(tokens: readonly string[]): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...tokens) },
    { weight: 2, arbitrary: fc.constantFrom(...odd) },
    { weight: 1, arbitrary: fc.string({ maxLength: 12 }) },
    { weight: 1, arbitrary: fc.integer().map(String) },
  );
  const joined = fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join(""));
  const row = fc
    .tuple(joined, fc.array(piece, { minLength: 1, maxLength: 3 }), fc.constantFrom(64, 4096, longest), joined)
    .map(([before, pieces, length, after]) => before + repeatTo(pieces.join(""), length) + after);
  return fc.oneof(
    { weight: 5, arbitrary: joined },
    { weight: 2, arbitrary: row },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 200 }) },
  );
}

function repeatTo(piece: string, length: number): string {
  return piece === "" ? "" : piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
}

export function bytes(tokens: readonly string[], corpus: readonly Buffer[] = []): fc.Arbitrary<Buffer> {
  const written = fc
    .tuple(texts(tokens), fc.constantFrom("utf8", "latin1"))
    .map(([text, encoding]) => Buffer.from(text, encoding as BufferEncoding));
  const noise = fc.uint8Array({ maxLength: 1500 }).map((array) => Buffer.from(array));
  const choices = [written, noise];
  return corpus.length === 0 ? fc.oneof(...choices) : fc.oneof(...choices, mutated(corpus), mutated(corpus));
}

/** Concatenated pieces of real files, with a few bytes changed. */
function mutated(corpus: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const offset = fc.double({ min: 0, max: 1, noNaN: true });
  const piece = fc.tuple(fc.constantFrom(...corpus), offset, offset).map(([file, a, b]) => {
    const [from, to] = a < b ? [a, b] : [b, a];
    return file.subarray(Math.floor(from * file.length), Math.ceil(to * file.length));
  });
  const whole = fc.constantFrom(...corpus);
  const mutations = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 12 });
  return fc
    .tuple(fc.array(fc.oneof(piece, whole), { minLength: 1, maxLength: 3 }), mutations)
    .map(([pieces, changes]) => {
      const made = Buffer.concat(pieces);
      for (const [at, byte] of changes) if (made.length > 0) made[at % made.length] = byte;
      return made;
    });
}

/** Positions at which a stream is cut into packets. */
export const cuts = fc.array(fc.nat(), { maxLength: 8 });

export function cut(whole: Buffer, positions: readonly number[]): Buffer[] {
  const at = [...new Set(positions.map((position) => position % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => whole.subarray(from, at[i] ?? whole.length));
}
