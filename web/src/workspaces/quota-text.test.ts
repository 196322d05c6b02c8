import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesText, wholeNumber } from "./quota-text.ts";

test("amounts are short", () => {
  assert.deepEqual([0, 1023, 1024, 1536, 1073741824, 5 * 1024 ** 5].map(bytesText), [
    "0 bytes",
    "1023 bytes",
    "1 KiB",
    "1.5 KiB",
    "1 GiB",
    "5120 TiB",
  ]);
  assert.equal(wholeNumber(1234567), "1,234,567");
});
