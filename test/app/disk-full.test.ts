import assert from "node:assert/strict";
import { test } from "node:test";
import { fillDisk, withoutMount } from "../faults/disk-full.ts";

test("when the disk is full, even so full that PostgreSQL stops, callers get unavailable, no mail is lost, and the program recovers by itself", {
  skip: withoutMount,
}, async () => {
  const { injected, lost, duplicated, gaps, broken } = await fillDisk(2, () => {});
  assert.deepEqual(broken, []);
  assert.deepEqual({ injected, lost, duplicated, gaps }, { injected: 2, lost: 0, duplicated: 0, gaps: 0 });
});
