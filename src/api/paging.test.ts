import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Problem } from "../rules/problem.ts";
import { cutPage, keysetPage } from "./paging.ts";

test("unset is 20, above 100 is 100, negative is refused", () => {
  assert.equal(keysetPage({ pageSize: 0, pageToken: "" }).limit, 20);
  assert.equal(keysetPage({ pageSize: 7, pageToken: "" }).limit, 7);
  assert.equal(keysetPage({ pageSize: 5000, pageToken: "" }).limit, 100);
  assert.throws(() => keysetPage({ pageSize: -1, pageToken: "" }), Problem);
});

test("a token names the last row shown, and there is none on the last page", () => {
  const rows = ["019a0000-0000-7000-8000-000000000003", "019a0000-0000-7000-8000-000000000002"].map((id) => ({ id }));
  assert.deepEqual(cutPage(rows, 2), { rows, nextPageToken: "" });
  const cut = cutPage(rows, 1);
  assert.deepEqual(cut.rows, [rows[0]]);
  assert.equal(keysetPage({ pageSize: 1, pageToken: cut.nextPageToken }).before, rows[0]!.id);
});

test("a token that is not ours is refused, whatever it is", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (pageToken) => {
      if (/^[\w-]{22}$/.test(pageToken)) return;
      assert.throws(() => keysetPage({ pageSize: 0, pageToken }), Problem);
    }),
  );
});
