import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { compressionGzip } from "@connectrpc/connect-node";
import { type BodyReservation, countDecompressed, createBodyMemory } from "./request-body.ts";

const mib = 1024 * 1024;
const declared = (bytes: number) => ({ declaredBytes: bytes, compressed: false });
const undeclared = { declaredBytes: undefined, compressed: false };
const notRefused = () => assert.fail("refused in the middle of a body");

async function* chunks(count: number, bytes = 256 * 1024): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < count; i++) yield new Uint8Array(bytes);
}

async function readAll(reservation: BodyReservation, body: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of reservation.metered(body)) bytes += chunk.length;
  return bytes;
}

test("small requests are not counted", () => {
  assert.equal(createBodyMemory(10 * mib).track(declared(64 * 1024), notRefused), undefined);
});

test("large bodies are refused with a retry delay when the memory is used up; ordinary ones are not", () => {
  const memory = createBodyMemory(100 * mib);
  const reservations = ["one", "two"].map((workspace) => {
    const reservation = memory.track(declared(40 * mib), notRefused)!;
    reservation.reserve(workspace);
    return reservation;
  });
  const third = memory.track(declared(40 * mib), notRefused)!;
  assert.throws(() => third.reserve("three"), { code: "resource_exhausted", retryAfterMs: 2_000 });
  third.release();
  memory.track(declared(mib), notRefused)!.reserve("three");
  reservations[0]!.release();
  memory.track(declared(40 * mib), notRefused)!.reserve("three");
});

test("one workspace may use half of the memory, or have one body of any size", () => {
  const memory = createBodyMemory(100 * mib);
  memory.track(declared(30 * mib), notRefused)!.reserve("greedy");
  assert.throws(() => memory.track(declared(25 * mib), notRefused)!.reserve("greedy"), { code: "resource_exhausted" });
  memory.track(declared(55 * mib), notRefused)!.reserve("modest");
});

test("a body without a declared length is counted chunk by chunk, and its memory is released", async () => {
  const memory = createBodyMemory(10 * mib);
  const reservation = memory.track(undeclared, notRefused)!;
  reservation.reserve("one");
  assert.equal(await readAll(reservation, chunks(8)), 2 * mib);
  assert.equal(memory.usedBytes(), 2 * mib);
  reservation.release();
  assert.equal(memory.usedBytes(), 0);

  let refusals = 0;
  const endless = memory.track(undeclared, () => refusals++)!;
  endless.reserve("one");
  const other = memory.track(declared(5 * mib), notRefused)!;
  other.reserve("two");
  await assert.rejects(readAll(endless, chunks(1000)), /memory for them is used up/);
  assert.equal(refusals, 1);
  endless.release();
  other.release();
  assert.equal(memory.usedBytes(), 0);
});

test("the decompressed size of a small request is counted", async () => {
  const memory = createBodyMemory(20 * mib);
  const gzip = countDecompressed(compressionGzip);
  const bomb = gzipSync(Buffer.alloc(15 * mib));
  const decompress = (reservation: BodyReservation) =>
    reservation.run(async () => await gzip.decompress(bomb, 64 * mib));
  const first = memory.track({ declaredBytes: bomb.length, compressed: true }, notRefused)!;
  first.reserve("one");
  assert.equal((await decompress(first)).length, 15 * mib);
  let refusals = 0;
  const second = memory.track({ declaredBytes: bomb.length, compressed: true }, () => refusals++)!;
  second.reserve("two");
  await assert.rejects(decompress(second), /memory for them is used up/);
  assert.equal(refusals, 1);
  first.release();
  second.release();
  assert.equal(memory.usedBytes(), 0);
});
