import assert from "node:assert/strict";
import { test } from "node:test";
import { createMessageMemory, type MessageMemory } from "./message-memory.ts";

/** Opens a message; `gone` collects the names of those that give way. */
function open(memory: MessageMemory, owner: string, { rate, gone = [] }: { rate?: number; gone?: string[] } = {}) {
  return memory.open(owner, { rate: () => rate, giveWay: () => void gone.push(owner) });
}

const fast = 1_000_000;

test("one sender leaves memory to the others, and only it is refused", () => {
  const memory = createMessageMemory({ bytes: 1000, unsharedBytes: 0, factor: 1 });
  const flood = open(memory, "flood", { rate: fast });
  assert.equal(flood.reserve(500), true);
  assert.equal(flood.reserve(1), false);
  const calm = open(memory, "calm", { rate: fast });
  assert.equal(calm.reserve(200), true);
  flood.release();
  flood.release();
  assert.equal(memory.used(), 200);
});

test("a slow message of the sender that holds most gives way to a sender that holds less", () => {
  const memory = createMessageMemory({ bytes: 1000, unsharedBytes: 0, factor: 1 });
  const gone: string[] = [];
  open(memory, "slow", { rate: 10, gone }).reserve(500);
  open(memory, "slower", { rate: 0, gone }).reserve(200);
  assert.equal(open(memory, "new", { rate: fast, gone }).reserve(400), true);
  assert.deepEqual(gone, ["slow"]);
});

test("a fast message, a complete one and those of senders that hold less do not give way", () => {
  const memory = createMessageMemory({ bytes: 1000, unsharedBytes: 0, factor: 1 });
  const gone: string[] = [];
  open(memory, "fast", { rate: fast, gone }).reserve(500);
  open(memory, "complete", { gone }).reserve(250);
  open(memory, "small", { rate: 0, gone }).reserve(100);
  assert.equal(open(memory, "new", { rate: fast, gone }).reserve(160), false);
  assert.deepEqual(gone, []);
});

test("the first octets of a message need no share", () => {
  const memory = createMessageMemory({ bytes: 1, unsharedBytes: 100, factor: 1 });
  open(memory, "large").reserve(101);
  const small = open(memory, "small");
  assert.deepEqual([small.reserve(60), small.reserve(40), small.reserve(1)], [true, true, false]);
});

test("a message that gave way gets no more memory", () => {
  const memory = createMessageMemory({ bytes: 1000, unsharedBytes: 0, factor: 1 });
  const slow = open(memory, "slow", { rate: 0 });
  slow.reserve(500);
  open(memory, "new", { rate: fast }).reserve(450);
  assert.equal(slow.reserve(1), false);
  slow.release();
  assert.equal(memory.used(), 450);
});
