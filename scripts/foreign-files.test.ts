import assert from "node:assert/strict";
import { test } from "node:test";
import { foreignFiles } from "./foreign-files.ts";

test("files that import the table directly or through the harness are selected, others are not", () => {
  const [direct, through, none] = [
    "src/dns/zone-file.test.ts",
    "test/journeys/web-pages.test.ts",
    "src/mail/address.test.ts",
  ];
  assert.deepEqual(foreignFiles([direct, none, through]), [direct, through]);
});
