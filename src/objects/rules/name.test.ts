import assert from "node:assert/strict";
import { test } from "node:test";
import { dayMs, isOldEnough, objectName, readObjectName } from "./name.ts";

const place = { id: "019a9a00-0000-7abc-8def-0123456789ab", line: "0123456789ab" };

test("a name has the line, the day and the id, and is read back", () => {
  const name = objectName(place);
  assert.match(name, /^objects\/0123456789ab\/2025-\d\d-\d\d\/019a9a00-0000-7abc-8def-0123456789ab$/);
  assert.deepEqual(readObjectName(name), { ...place, atMs: 0x019a9a000000 });
});

test("names of other programs are not read", () => {
  const name = objectName(place);
  for (const other of [
    "",
    "posthorn-mark.json",
    `${name}x`,
    `x${name}`,
    name.replace("2025", "2024"),
    name.replace("-7abc", "-4abc"),
  ])
    assert.equal(readObjectName(other), undefined, other);
});

test("an object is old enough only by the store's clock and by its name", () => {
  const nowMs = 100 * dayMs;
  const old = { ageMs: dayMs + 1, atMs: nowMs - dayMs - 1, nowMs };
  assert.equal(isOldEnough(old), true);
  assert.equal(isOldEnough({ ...old, ageMs: dayMs }), false);
  assert.equal(isOldEnough({ ...old, atMs: nowMs - dayMs }), false);
  assert.equal(isOldEnough({ ...old, ageMs: Number.NaN }), false);
});
