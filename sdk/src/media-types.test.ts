/** Media types by file name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mediaTypeOf } from "./media-types.ts";

test("the type is that of the last ending, in any case", () => {
  assert.equal(mediaTypeOf("receipt.pdf"), "application/pdf");
  assert.equal(mediaTypeOf("Photo.of.us.JPG"), "image/jpeg");
  assert.equal(mediaTypeOf("archive.tar.gz"), "application/gzip");
  for (const name of ["a.bin", "pdf", "a.pdf/b", "a.", ".constructor", ""])
    assert.equal(mediaTypeOf(name), undefined, name);
});
