import assert from "node:assert/strict";
import { test } from "node:test";
import { checkOut } from "./older-checkout.ts";

test("a commit that is not in the history is a skip reason, even with TEST_REQUIRE_FOREIGN", async (t) => {
  const before = process.env.TEST_REQUIRE_FOREIGN;
  t.after(() => {
    if (before === undefined) delete process.env.TEST_REQUIRE_FOREIGN;
    else process.env.TEST_REQUIRE_FOREIGN = before;
  });
  process.env.TEST_REQUIRE_FOREIGN = "1";
  // In a copy of this folder without its repository, git cannot read the checkout.
  assert.match(String(await checkOut("1".repeat(40))), /is not in the history of this checkout|git cannot read/);
});
