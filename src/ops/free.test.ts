import assert from "node:assert/strict";
import { test } from "node:test";
import { freeNow } from "./free.ts";

test("a large buffer of its own is freed; a small one or a view on a shared one is left alone", () => {
  const own = Buffer.allocUnsafeSlow(1024 * 1024);
  freeNow(own);
  assert.equal(own.length, 0);
  const shared = Buffer.alloc(200_000, "x");
  const part = shared.subarray(0, 100_000);
  freeNow(part);
  assert.deepEqual([part.length, shared.length], [100_000, 200_000]);
  const pooled = Buffer.from("short");
  freeNow(pooled);
  assert.equal(pooled.toString(), "short");
  freeNow(new Uint8Array(new SharedArrayBuffer(100_000)));
});

test("the memory is freed without a garbage collection", () => {
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 200; i++) freeNow(Buffer.allocUnsafeSlow(8 * 1024 * 1024));
  assert.ok(process.memoryUsage().arrayBuffers - before < 64 * 1024 * 1024);
});
