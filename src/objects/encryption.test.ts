import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { openPieces, pieceBytes, piecesIn, sealedBytes, sealedRange, sealPieces } from "./encryption.ts";
import { ObjectLost } from "./store-error.ts";

const object = { name: "objects/one", key: randomBytes(32) };
const lengths = [0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 3 * pieceBytes, 3 * pieceBytes + 17];

async function seal(content: Buffer, of = object): Promise<Buffer> {
  const sealed: Buffer[] = [];
  const chunks = Array.from({ length: Math.ceil(content.length / 10_000) }, (_, i) =>
    content.subarray(i * 10_000, (i + 1) * 10_000),
  );
  for await (const piece of sealPieces(of, { bytes: content.length, chunks })) sealed.push(piece);
  return Buffer.concat(sealed);
}

const open = (bytes: number, sealed: Buffer, of = object) => Buffer.concat(openPieces(of, { bytes, first: 0, sealed }));

test("content of any length is sealed and opened, and its object has the announced length", async () => {
  for (const bytes of lengths) {
    const content = randomBytes(bytes);
    const sealed = await seal(content);
    assert.equal(sealed.length, sealedBytes(bytes));
    assert.deepEqual(open(bytes, sealed), content);
  }
});

test("a range of pieces is opened without the rest", async () => {
  const content = randomBytes(4 * pieceBytes + 5);
  const sealed = await seal(content);
  for (const range of [
    { first: 0, end: 2 },
    { first: 1, end: 3 },
    { first: 4, end: 5 },
  ]) {
    const { start, end } = sealedRange(content.length, range);
    const opened = openPieces(object, {
      bytes: content.length,
      first: range.first,
      sealed: sealed.subarray(start, end),
    });
    const expected = content.subarray(range.first * pieceBytes, range.end * pieceBytes);
    assert.deepEqual(Buffer.concat(opened), expected);
  }
});

test("damaged, cut, swapped, repeated and foreign pieces do not open", async () => {
  const bytes = 3 * pieceBytes;
  const sealed = await seal(randomBytes(bytes));
  const at = (piece: number) => sealedRange(bytes, { first: piece, end: piece + 1 });
  const header = sealed.subarray(0, 8);
  const pieces = [0, 1, 2].map((piece) => sealed.subarray(piece === 0 ? 8 : at(piece).start, at(piece).end));
  const joined = (...order: number[]) => Buffer.concat([header, ...order.map((i) => pieces[i]!)]);
  assert.deepEqual(joined(0, 1, 2), sealed);
  const flipped = Buffer.from(sealed);
  flipped[pieceBytes + 100]! ^= 1;
  const other = await seal(randomBytes(bytes), { ...object, name: "objects/two" });
  const version = Buffer.from(sealed);
  version[4] = 9;
  for (const bad of [joined(1, 0, 2), joined(0, 0, 2), flipped, other, version, sealed.subarray(0, -1)])
    assert.throws(() => open(bytes, bad), ObjectLost);
  // Cut after a whole piece: the piece before the cut is not the last.
  assert.throws(() => open(2 * pieceBytes, joined(0, 1)), ObjectLost);
  assert.equal(piecesIn(bytes), 3);
});

test("content of another length than announced is not sealed", async () => {
  for (const chunks of [[Buffer.alloc(9)], [Buffer.alloc(11)], []])
    await assert.rejects(async () => {
      for await (const _ of sealPieces(object, { bytes: 10, chunks }));
    }, /10 octets/);
});
