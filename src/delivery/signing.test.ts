import assert from "node:assert/strict";
import { test } from "node:test";
import { signatureCost } from "./signing.ts";

test("a signature costs more slots with a larger key, and never less than one", () => {
  assert.deepEqual([1024, 2048, 3072, 4096].map(signatureCost), [1, 1, 2, 4]);
});
