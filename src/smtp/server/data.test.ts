import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createChunkReader, createKeeper, createLineCheck } from "./data.ts";

const enough = { maxBytes: 1_000_000, reserve: () => true };

test("a chunk ends after its octets, whatever they are and however they arrive", () => {
  const piece = fc.uint8Array({ maxLength: 40 });
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), fc.nat(), (pieces, at) => {
      const all = Buffer.concat(pieces);
      const bytes = all.length === 0 ? 0 : (at % all.length) + 1;
      if (bytes === 0) return;
      const keeper = createKeeper(enough);
      const reader = createChunkReader(bytes, keeper, createLineCheck());
      let rest: Buffer | undefined;
      for (const [i, one] of pieces.entries()) {
        const step = reader(Buffer.from(one));
        if (!step) continue;
        assert.deepEqual(step.result, { kind: "chunk" });
        rest = Buffer.concat([step.rest!, ...pieces.slice(i + 1)]);
        break;
      }
      assert.deepEqual(keeper.take(), all.subarray(0, bytes));
      assert.deepEqual(rest, all.subarray(bytes));
    }),
  );
});

test("the check of lines finds what a search over the whole message finds", () => {
  const part = fc.constantFrom("\r", "\n", "\r\n", "a", "\0", "b".repeat(40));
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), fc.array(fc.nat({ max: 60 }), { maxLength: 5 }), (parts, cuts) => {
      const message = Buffer.from(parts.join(""), "latin1");
      const check = createLineCheck();
      let from = 0;
      for (const cut of [...cuts.sort((a, b) => a - b), message.length]) {
        check.add(message.subarray(from, cut));
        from = Math.max(from, Math.min(cut, message.length));
      }
      const isBad = /\r(?!\n)|(?<!\r)\n|\0/.test(message.toString("latin1"));
      assert.equal(check.fault() !== undefined, isBad, JSON.stringify(message.toString("latin1")));
    }),
    { numRuns: 500 },
  );
});

test("a message over the limit, or without memory, is discarded at once", () => {
  let discarded = 0;
  const keeper = createKeeper({ maxBytes: 5, reserve: () => true, onDiscard: () => discarded++ });
  keeper.keep(Buffer.from("1234"));
  assert.equal(keeper.discards(), false);
  keeper.keep(Buffer.from("56"));
  keeper.keep(Buffer.from("7"));
  assert.deepEqual([keeper.discards(), discarded, keeper.take().length], [true, 1, 0]);
});
