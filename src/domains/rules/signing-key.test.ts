import assert from "node:assert/strict";
import { test } from "node:test";
import { signingKeys } from "./signing-key.ts";

const selectors = (imported: string[], own: string[], foundSlots: number[]) =>
  signingKeys({
    imported: imported.map((selector) => ({ selector })),
    own: own.map((selector) => ({ selector })),
    foundSlots,
  }).map(({ selector }) => selector);

test("an imported key whose record is found signs first, then our keys that receivers can find", () => {
  assert.deepEqual(selectors(["s2", "s1"], ["ph2", "ph1"], [1, 2]), ["s2", "s1", "ph2", "ph1"]);
  assert.deepEqual(selectors([], ["ph2", "ph1"], [1]), ["ph1"]);
});

test("without any record, accepted mail is still signed with our keys", () => {
  assert.deepEqual(selectors([], ["ph1", "ph2"], []), ["ph1", "ph2"]);
  assert.deepEqual(selectors(["s1"], ["ph1"], []), ["s1", "ph1"], "an imported key that is found is better");
  assert.deepEqual(selectors([], [], [1]), []);
});
