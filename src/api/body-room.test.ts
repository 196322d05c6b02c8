import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { compressionGzip } from "@connectrpc/connect-node";
import { type BodyHold, countUnpacked, createBodyRoom } from "./body-room.ts";

const mib = 1024 * 1024;
const declared = (bytes: number) => ({ declaredBytes: bytes, packed: false });
const unsaid = { declaredBytes: undefined, packed: false };
const nobody = () => assert.fail("not in the middle of a body");

async function* chunks(count: number, bytes = 256 * 1024): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < count; i++) yield new Uint8Array(bytes);
}

async function readAll(hold: BodyHold, body: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of hold.metered(body)) bytes += chunk.length;
  return bytes;
}

test("small requests are not counted at all", () => {
  assert.equal(createBodyRoom(10 * mib).enter(declared(64 * 1024), nobody), undefined);
});

test("large bodies are refused when the room is full, with a time to come back; ordinary ones are not", () => {
  const room = createBodyRoom(100 * mib);
  const holds = ["one", "two"].map((workspace) => {
    const hold = room.enter(declared(45 * mib), nobody)!;
    hold.admit(workspace);
    return hold;
  });
  const third = room.enter(declared(45 * mib), nobody)!;
  assert.throws(() => third.admit("three"), { code: "resource_exhausted", retryAfterMs: 2_000 });
  third.release();
  room.enter(declared(mib), nobody)!.admit("three");
  holds[0]!.release();
  room.enter(declared(45 * mib), nobody)!.admit("three");
});

test("one workspace has half of the room, or one body however large", () => {
  const room = createBodyRoom(100 * mib);
  room.enter(declared(45 * mib), nobody)!.admit("greedy");
  assert.throws(() => room.enter(declared(10 * mib), nobody)!.admit("greedy"), { code: "resource_exhausted" });
  room.enter(declared(55 * mib), nobody)!.admit("modest");
});

test("a body of unsaid length is counted as it comes, and leaves nothing behind", async () => {
  const room = createBodyRoom(10 * mib);
  const hold = room.enter(unsaid, nobody)!;
  hold.admit("one");
  assert.equal(await readAll(hold, chunks(8)), 2 * mib);
  assert.equal(room.usedBytes(), 2 * mib);
  hold.release();
  assert.equal(room.usedBytes(), 0);

  let refusals = 0;
  const endless = room.enter(unsaid, () => refusals++)!;
  endless.admit("one");
  const other = room.enter(declared(5 * mib), nobody)!;
  other.admit("two");
  await assert.rejects(readAll(endless, chunks(1000)), /memory for them is used up/);
  assert.equal(refusals, 1);
  endless.release();
  other.release();
  assert.equal(room.usedBytes(), 0);
});

test("what a small request unpacks to is counted too", async () => {
  const room = createBodyRoom(20 * mib);
  const gzip = countUnpacked(compressionGzip);
  const bomb = gzipSync(Buffer.alloc(15 * mib));
  const unpack = (hold: BodyHold) => hold.run(async () => await gzip.decompress(bomb, 64 * mib));
  const first = room.enter({ declaredBytes: bomb.length, packed: true }, nobody)!;
  first.admit("one");
  assert.equal((await unpack(first)).length, 15 * mib);
  let refusals = 0;
  const second = room.enter({ declaredBytes: bomb.length, packed: true }, () => refusals++)!;
  second.admit("two");
  await assert.rejects(unpack(second), /memory for them is used up/);
  assert.equal(refusals, 1);
  first.release();
  second.release();
  assert.equal(room.usedBytes(), 0);
});
