import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Problem } from "../ops/problem.ts";
import { cutPage, keysetPage } from "./paging.ts";

test("an unset page size is 20, one above 100 is 100, and a negative one is refused", () => {
  assert.equal(keysetPage({ pageSize: 0, pageToken: "" }).limit, 20);
  assert.equal(keysetPage({ pageSize: 7, pageToken: "" }).limit, 7);
  assert.equal(keysetPage({ pageSize: 5000, pageToken: "" }).limit, 100);
  assert.throws(() => keysetPage({ pageSize: -1, pageToken: "" }), Problem);
});

test("the page token names the last row of the page, and the last page has none", () => {
  const rows = ["019a0000-0000-7000-8000-000000000003", "019a0000-0000-7000-8000-000000000002"].map((id) => ({ id }));
  assert.deepEqual(cutPage(rows, 2), { rows, nextPageToken: "" });
  const cut = cutPage(rows, 1);
  assert.deepEqual(cut.rows, [rows[0]]);
  assert.equal(keysetPage({ pageSize: 1, pageToken: cut.nextPageToken }).before, rows[0]!.id);
});

test("a malformed page token is refused", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (pageToken) => {
      if (/^[\w-]{22}$/.test(pageToken)) return;
      assert.throws(() => keysetPage({ pageSize: 0, pageToken }), Problem);
    }),
  );
});
