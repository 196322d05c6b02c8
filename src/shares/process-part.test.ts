import assert from "node:assert/strict";
import { test } from "node:test";
import { onlyProcess, partOf } from "./process-part.ts";

test("the parts of all processes add up to the limit", () => {
  for (const total of [7, 50, 256, 4000, 10_000])
    for (const processes of [1, 2, 3, 4, 7]) {
      const parts = Array.from({ length: processes }, (_, index) => partOf(total, { index, of: processes }));
      assert.equal(
        parts.reduce((sum, part) => sum + part, 0),
        total,
      );
      assert.ok(Math.max(...parts) - Math.min(...parts) <= 1);
    }
});

test("a single process has the whole limit, and no process has less than it needs", () => {
  assert.equal(partOf(128, onlyProcess, 80), 128);
  assert.equal(partOf(128, { index: 1, of: 4 }, 80), 80);
  assert.equal(partOf(3, { index: 9, of: 10 }), 1);
  assert.equal(partOf(3, { index: 9, of: 10 }, 5), 3);
  assert.equal(partOf(Number.POSITIVE_INFINITY, { index: 0, of: 2 }), Number.POSITIVE_INFINITY);
});
