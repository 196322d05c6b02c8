import assert from "node:assert/strict";
import { test } from "node:test";
import { foreignFiles } from "./foreign-files.ts";

test("files that import the table of foreign programs, directly or through the harness, are selected", () => {
  const [direct, through, none] = [
    "src/domains/zone-file.test.ts",
    "test/web/pages.test.ts",
    "src/mail/address.test.ts",
  ];
  assert.deepEqual(foreignFiles([direct, none, through]), [direct, through]);
});
