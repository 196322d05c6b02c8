import assert from "node:assert/strict";
import { test } from "node:test";
import { writePieces } from "./pieces.ts";

test("pieces are written one after another, following the requested headroom", () => {
  const content = Buffer.alloc(100, 7).toString("base64");
  const message = writePieces(
    ["grün\r\n", Buffer.from([1, 2]), { base64: content }, { base64: Buffer.from(content) }, "end"],
    5,
  );
  assert.deepEqual([...message.subarray(0, 5)], [0, 0, 0, 0, 0]);
  const lines = `${content.slice(0, 76)}\r\n${content.slice(76)}\r\n`;
  assert.equal(message.subarray(5).toString(), `grün\r\n\x01\x02${lines}${lines}end`);
});

test("empty pieces yield an empty message", () => {
  assert.equal(writePieces([], 0).length, 0);
  assert.equal(writePieces([{ base64: "" }], 0).toString(), "");
});
