import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createCollector } from "./collector.ts";

test("the collected octets are those that were added, in their order", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 9000 }), { maxLength: 20 }), (pieces) => {
      const collector = createCollector();
      for (const piece of pieces) collector.add(Buffer.from(piece));
      assert.ok(collector.take().equals(Buffer.concat(pieces)));
    }),
    { numRuns: 50 },
  );
});

test("octets that arrive one by one do not take a Buffer each", () => {
  const before = process.memoryUsage();
  const collector = createCollector();
  for (let i = 0; i < 1_000_000; i++) collector.add(Buffer.from([i]));
  globalThis.gc?.();
  const after = process.memoryUsage();
  assert.ok(after.arrayBuffers - before.arrayBuffers < 4_000_000, `${after.arrayBuffers - before.arrayBuffers}`);
  assert.equal(collector.take().length, 1_000_000);
});

test("dropped octets are gone", () => {
  const collector = createCollector();
  collector.add(Buffer.from("dropped"));
  collector.drop();
  collector.add(Buffer.from("kept"));
  assert.equal(collector.take().toString(), "kept");
});
