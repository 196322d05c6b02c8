import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { BareLineEnd, bodyPieces, pieceBytes } from "./body.ts";

function wireBytes(message: string | Buffer): Buffer {
  return Buffer.concat([...bodyPieces(Buffer.from(message as string))].map((piece) => piece.bytes));
}

for (const [name, message, bytes] of [
  ["plain text", "a\r\nb\r\n", "a\r\nb\r\n.\r\n"],
  ["no line end at the end", "a", "a\r\n.\r\n"],
  ["nothing at all", "", ".\r\n"],
  ["a dot first", ".a\r\n", "..a\r\n.\r\n"],
  ["a lone dot", "a\r\n.\r\nb\r\n", "a\r\n..\r\nb\r\n.\r\n"],
  ["dots all the way", "..\r\n...\r\n", "...\r\n....\r\n.\r\n"],
] as const) {
  test(name, () => assert.equal(wireBytes(message).toString(), bytes));
}

for (const message of ["a\nb", "a\rb", "\n", "\r", "a\r", "a\r\n\n.\r\n", "\r\r\n", "x\n.\r\n", "x\r.\r\n", "\n.\n"]) {
  test(`${JSON.stringify(message)} is refused: it could end the message elsewhere`, () =>
    assert.throws(() => wireBytes(message), BareLineEnd));
}

test("a bare LF is found wherever the pieces are cut", () => {
  for (const offset of [pieceBytes - 1, pieceBytes, pieceBytes + 1]) {
    const message = Buffer.alloc(pieceBytes * 2, "x");
    message[offset] = 0x0a;
    assert.throws(() => wireBytes(message), BareLineEnd);
    message[offset - 1] = 0x0d;
    assert.equal(wireBytes(message).length, message.length + 5);
  }
});

test("a line that begins with a piece is stuffed like any other", () => {
  for (const shift of [0, 1, 2, 3]) {
    const message = Buffer.concat([
      Buffer.alloc(pieceBytes - shift, "x"),
      Buffer.from("\r\n.y\r\n"),
      Buffer.alloc(10, "z"),
    ]);
    assert.ok(
      wireBytes(message)
        .toString()
        .endsWith(`x\r\n..y\r\n${"z".repeat(10)}\r\n.\r\n`),
    );
  }
});

test("only the last piece holds the final dot", () => {
  const pieces = [...bodyPieces(Buffer.alloc(pieceBytes * 3, "x"))];
  assert.deepEqual(
    pieces.map((piece) => piece.last),
    [false, false, true],
  );
});

test("unstuffing gives the message back and the end is found nowhere else", () => {
  const part = fc.constantFrom(".", "..", "a", "\r\n", "\r\n.", "\r\n.\r\n", "é");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const message = parts.join("");
      const sent = wireBytes(message).toString();
      const canonical = message === "" || message.endsWith("\r\n") ? message : `${message}\r\n`;
      assert.equal(`\r\n${sent}`.indexOf("\r\n.\r\n"), sent.length - 3);
      assert.equal(sent.slice(0, -3).replace(/(^|\r\n)\./g, "$1"), canonical);
    }),
  );
});
