import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createDataReader, type DataRead } from "./server-input.ts";

const room = { maxBytes: 1_000_000, grow: () => true };

/** Feeds the bytes in pieces; gives the result and what was left over. */
function read(pieces: readonly Buffer[], options = room): { result: DataRead | undefined; rest: string } {
  const reader = createDataReader(options);
  for (const [i, piece] of pieces.entries()) {
    const step = reader(piece);
    if (step)
      return {
        result: step.result,
        rest: Buffer.concat([step.rest ?? Buffer.alloc(0), ...pieces.slice(i + 1)]).toString("latin1"),
      };
  }
  return { result: undefined, rest: "" };
}

/** RFC 5321 §4.5.2 from the client's side. */
function stuffed(text: string): string {
  return `${text.replace(/^\./gm, "..")}.\r\n`;
}

/** Cuts bytes into pieces at the given places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

const line = fc.string({ unit: fc.constantFrom("a", ".", " ", "\0", "ü", "\x7f"), maxLength: 12 });
const places = fc.array(fc.nat(), { maxLength: 8 });

test("whatever is sent in lines comes out the same, in whatever pieces it arrives, and nothing behind it is touched", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 10 }), places, (lines, cuts) => {
      const text = lines.map((one) => `${one}\r\n`).join("");
      const { result, rest } = read(cut(Buffer.from(`${stuffed(text)}QUIT\r\n`), cuts));
      assert.ok(result?.kind === "message");
      assert.equal(result.message.toString(), text);
      assert.equal(rest, "QUIT\r\n");
    }),
    { numRuns: 500 },
  );
});

test("of any bytes the end is CRLF, dot, CRLF and nothing else; a CR or LF alone before it is a fault", () => {
  const byte = fc.constantFrom("\r", "\n", "\r\n", ".", "a");
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 30 }), places, (parts, cuts) => {
      const sent = parts.join("");
      const { result, rest } = read(cut(Buffer.from(sent), cuts));
      const before = result?.kind === "message" ? sent.slice(0, sent.length - rest.length) : sent;
      const bare = /\r(?!\n|$)|(?<!\r)\n/.test(before);
      if (result?.kind === "fault") assert.ok(bare, JSON.stringify(sent));
      else assert.ok(!bare, `${JSON.stringify(sent)} was taken`);
      if (result?.kind === "message") assert.match(before, /(?:^|\r\n)\.\r\n$/);
    }),
    { numRuns: 2000 },
  );
});

test("what is too large is read to its end and forgotten, and far beyond the limit not waited for", () => {
  const long = `${"x".repeat(70)}\r\n`.repeat(20);
  const ended = read([Buffer.from(`${long}.\r\nNOOP\r\n`)], { ...room, maxBytes: 100 });
  assert.deepEqual(ended, { result: { kind: "too large", ended: true }, rest: "NOOP\r\n" });
  const endless = read([Buffer.alloc(200_000, "x"), Buffer.from("\r\n")], { ...room, maxBytes: 100 });
  assert.deepEqual(endless.result, { kind: "too large", ended: false });
  const noRoom = read([Buffer.from("hello\r\n.\r\n")], { ...room, grow: () => false });
  assert.deepEqual(noRoom.result, { kind: "too large", ended: true });
});
