import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { BareLineEnd, bodyPieces, pieceBytes } from "./body.ts";

function encode(message: string | Buffer): Buffer {
  return Buffer.concat([...bodyPieces(Buffer.from(message as string))].map((piece) => piece.bytes));
}

for (const [name, message, bytes] of [
  ["plain text", "a\r\nb\r\n", "a\r\nb\r\n.\r\n"],
  ["a message without a final line end", "a", "a\r\n.\r\n"],
  ["an empty message", "", ".\r\n"],
  ["a message that begins with a dot", ".a\r\n", "..a\r\n.\r\n"],
  ["a line with one dot", "a\r\n.\r\nb\r\n", "a\r\n..\r\nb\r\n.\r\n"],
  ["lines with only dots", "..\r\n...\r\n", "...\r\n....\r\n.\r\n"],
] as const) {
  test(`${name} is encoded for DATA`, () => assert.equal(encode(message).toString(), bytes));
}

for (const message of ["a\nb", "a\rb", "\n", "\r", "a\r", "a\r\n\n.\r\n", "\r\r\n", "x\n.\r\n", "x\r.\r\n", "\n.\n"]) {
  test(`${JSON.stringify(message)} is refused for its bare CR or LF`, () =>
    assert.throws(() => encode(message), BareLineEnd));
}

test("the header fields of a copy come in front of the message, whose memory stays as it is", () => {
  const shared = Buffer.concat([Buffer.from(".a: b\r\n\r\n"), Buffer.alloc(pieceBytes, "x"), Buffer.from("\r\n.\r\n")]);
  const before = Buffer.from(shared);
  for (const prefix of ["X-Copy: one\r\n", "X-Copy: two\r\nX-More: 3\r\n", ""]) {
    const sent = Buffer.concat([...bodyPieces(shared, prefix)].map((piece) => piece.bytes)).toString();
    assert.equal(sent, prefix + encode(shared).toString());
  }
  assert.deepEqual(shared, before);
  for (const prefix of ["X: 1", "X: 1\n", ".X: 1\r\n", "X: 1\r\n.\r\n", "\r\n", "X: 1\r\r\n", "X: é\r\n"])
    assert.throws(() => [...bodyPieces(shared, prefix)], BareLineEnd, JSON.stringify(prefix));
});

test("a bare LF is found at every piece boundary", () => {
  for (const offset of [pieceBytes - 1, pieceBytes, pieceBytes + 1]) {
    const message = Buffer.alloc(pieceBytes * 2, "x");
    message[offset] = 0x0a;
    assert.throws(() => encode(message), BareLineEnd);
    message[offset - 1] = 0x0d;
    assert.equal(encode(message).length, message.length + 5);
  }
});

test("a dot that begins a line at a piece boundary is stuffed", () => {
  for (const shift of [0, 1, 2, 3]) {
    const message = Buffer.concat([
      Buffer.alloc(pieceBytes - shift, "x"),
      Buffer.from("\r\n.y\r\n"),
      Buffer.alloc(10, "z"),
    ]);
    assert.ok(
      encode(message)
        .toString()
        .endsWith(`x\r\n..y\r\n${"z".repeat(10)}\r\n.\r\n`),
    );
  }
});

test("only the last piece contains the final dot", () => {
  const pieces = [...bodyPieces(Buffer.alloc(pieceBytes * 3, "x"))];
  assert.deepEqual(
    pieces.map((piece) => piece.last),
    [false, false, true],
  );
});

test("unstuffing returns the message, and the end marker occurs only at the end", () => {
  const part = fc.constantFrom(".", "..", "a", "\r\n", "\r\n.", "\r\n.\r\n", "é");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const message = parts.join("");
      const sent = encode(message).toString();
      const canonical = message === "" || message.endsWith("\r\n") ? message : `${message}\r\n`;
      assert.equal(`\r\n${sent}`.indexOf("\r\n.\r\n"), sent.length - 3);
      assert.equal(sent.slice(0, -3).replace(/(^|\r\n)\./g, "$1"), canonical);
    }),
  );
});
